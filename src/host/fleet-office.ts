import { Bell } from '../memory/bell.ts';
import {
  FLEET_CELL,
  FLEET_STOCK,
  OFFICE_CLOSED,
  OFFICE_ENTRY_BITS,
  OFFICE_STATE_BITS,
  OFFICE_VACANT,
} from '../memory/layout/fleet.ts';
import type { Region } from '../memory/region.ts';

const STATE_MASK = 2 ** OFFICE_STATE_BITS - 1;
const ENTRY_MASK = 2 ** OFFICE_ENTRY_BITS - 1;

/**
 * Removes an ended process from a fleet's stock with a name. If it was the buyer, makes the office
 * vacant and wakes the other members. Returns the offset of the stock's bucket.
 */
export function leaveFleet(region: Region, cell: number, process: number): number {
  const members = new Uint8Array(region.buffer, cell + FLEET_CELL.members);
  Atomics.store(members, process, 0);
  const at = (cell + FLEET_STOCK.buyer) >> 2;
  for (;;) {
    const word = Atomics.load(region.i32, at);
    const isHeld = (word & STATE_MASK) < OFFICE_CLOSED;
    if (!isHeld || ((word >> OFFICE_STATE_BITS) & ENTRY_MASK) !== process) break;
    if (Atomics.compareExchange(region.i32, at, word, word | OFFICE_VACANT) !== word) continue;
    new Bell(region.i32, (cell + FLEET_STOCK.rings) >> 2, region).ring();
    break;
  }
  return Atomics.load(region.i32, (cell + FLEET_CELL.bucket) >> 2);
}
