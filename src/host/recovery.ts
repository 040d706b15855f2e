import { freeStripes } from '../kernel/counters.ts';
import { freeSlots } from '../kernel/limit-set/slots.ts';
import { Owners, recoverWaiters, semaphores } from '../kernel/semaphore/owners.ts';
import { kindAt } from '../limiters/opening.ts';
import { CELLS } from '../limiters/terms.ts';
import { nonceOf } from '../memory/cell.ts';
import { FLEET_CELL } from '../memory/layout/fleet.ts';
import { REGION } from '../memory/layout.ts';
import { namesIn } from '../memory/names.ts';
import type { Region } from '../memory/region.ts';
import { processOfMark } from '../memory/thread.ts';
import { leaveFleet } from './fleet-member.ts';

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
  const { place } = CELLS[kind](region, cell, nonceOf({ region, offset: cell, bytes: 0 }));
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
