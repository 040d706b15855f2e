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
import type { Region } from '../memory/region.ts';
import { addDouble, exchangeDouble, loadDouble, raiseDouble } from '../memory/shared-double.ts';

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
