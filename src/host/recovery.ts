import { freeStripes } from '../kernel/counters.ts';
import { freeSlots } from '../kernel/limit-set/slots.ts';
import { Owners, recoverWaiters, semaphores } from '../kernel/semaphore/owners.ts';
import { kindAt } from '../limiters/opening.ts';
import { cellOf } from '../limiters/terms.ts';
import { nonceOf } from '../memory/cell.ts';
import { SharedEvent } from '../memory/event.ts';
import {
  FLEET_CELL,
  FLEET_MEMBER,
  FLEET_MEMBER_BYTES,
  FLEET_STOCK,
  LEADER_CLOSED,
  LEADER_ENTRY_BITS,
  LEADER_STATE_BITS,
  LEADER_VACANT,
} from '../memory/layout/fleet.ts';
import { REGION } from '../memory/layout.ts';
import { namesIn } from '../memory/names.ts';
import type { Region } from '../memory/region.ts';
import { addDouble, exchangeDouble, loadDouble, raiseDouble } from '../memory/shared-double.ts';
import { processOfMark } from '../memory/thread.ts';

/** What came back from an ended process. */
export interface Recovered {
  readonly permits: number;
  readonly tokens: number;
}

const NOTHING: Recovered = { permits: 0, tokens: 0 };

/** Releases what an ended process held. Safe to repeat. */
export function recoverProcess(region: Region, process: number): Recovered {
  const hasEnded = (mark: number) => processOfMark(mark) === process;
  const naming = Atomics.load(region.i32, REGION.naming);
  if (naming !== 0 && hasEnded(naming)) {
    Atomics.compareExchange(region.i32, REGION.naming, naming, 0);
  }
  let { permits, tokens } = NOTHING;
  for (const { cell } of namesIn(region)) {
    try {
      const recovered = recoverLimiter(region, cell, process);
      permits += recovered.permits;
      tokens += recovered.tokens;
    } catch {
      // A damaged limiter must not stop the others. Calls on it report it themselves.
    }
  }
  return { permits, tokens };
}

function recoverLimiter(region: Region, cell: number, process: number): Recovered {
  const hasEnded = (mark: number) => processOfMark(mark) === process;
  const kind = kindAt(region, cell);
  if (kind === undefined) return NOTHING; // a clock
  if (kind === 'fleet-bucket') {
    const tokens = leaveFleet(region, cell, process);
    // The stock's bucket has no name of its own.
    const bucket = Atomics.load(region.i32, (cell + FLEET_CELL.bucket) >> 2);
    return { ...recoverLimiter(region, bucket, process), tokens };
  }
  const nonce = nonceOf({ region, offset: cell, bytes: 0 });
  const { place } = cellOf(region, { zerotime: kind, offset: cell, nonce });
  freeStripes(place, hasEnded);
  if (kind === 'semaphore') {
    const { engine } = semaphores.openShared(region, undefined);
    const owners = new Owners(place, () => undefined);
    return { permits: recoverWaiters(place, { engine, owners }, hasEnded), tokens: 0 };
  }
  if (kind === 'limit-set' || kind === 'keyed-limit-set') {
    freeSlots(place, process, region.sharing?.process ?? process);
  }
  return NOTHING;
}

const STATE_MASK = 2 ** LEADER_STATE_BITS - 1;
const ENTRY_MASK = (2 ** LEADER_ENTRY_BITS - 1) << LEADER_STATE_BITS;

/**
 * Removes an ended process from a fleet's stock with a name. If it was the leader, the
 * other members elect another. Abandons the tokens for which it waited, and returns their number.
 */
export function leaveFleet(region: Region, cell: number, process: number): number {
  const member = cell + FLEET_CELL.members + process * FLEET_MEMBER_BYTES;
  Atomics.store(region.i32, (member + FLEET_MEMBER.buckets) >> 2, 0);
  const tokens = abandon(region, cell, member);
  vacate(region, (cell + FLEET_STOCK.buyer) >> 2, process);
  new SharedEvent(region.i32, (cell + FLEET_STOCK.event) >> 2, region).fire();
  return tokens;
}

function abandon({ i64 }: Region, cell: number, member: number): number {
  const waiting = (member + FLEET_MEMBER.waiting) >> 3;
  let tokens: number;
  // Cleared first: if this process is killed too, the tokens are lost, not passed on twice.
  do tokens = loadDouble(i64, waiting);
  while (!exchangeDouble(i64, waiting, tokens, 0));
  if (!(tokens > 0)) return 0;
  const until = loadDouble(i64, (member + FLEET_MEMBER.until) >> 3);
  raiseDouble(i64, (cell + FLEET_STOCK.abandonedUntil) >> 3, until);
  addDouble(i64, (cell + FLEET_STOCK.abandoned) >> 3, tokens);
  return tokens;
}

/** Ends the epoch of a leader for good: its entry may be another process's soon. */
function vacate({ i32 }: Region, at: number, process: number): void {
  for (;;) {
    const word = Atomics.load(i32, at);
    const isClosed = (word & STATE_MASK) === LEADER_CLOSED;
    if (isClosed || (word & ENTRY_MASK) >> LEADER_STATE_BITS !== process) return;
    const vacant = (word & ~ENTRY_MASK) | LEADER_VACANT;
    if (Atomics.compareExchange(i32, at, word, vacant) === word) return;
  }
}
