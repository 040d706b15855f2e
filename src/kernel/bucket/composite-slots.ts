import type { CellPlace } from '../../memory/cell.ts';
import {
  CELL,
  INDEX_BITS,
  SLOT,
  SLOT_BITS,
  SLOT_COUNT,
  slotBytes,
  slotsAt,
} from '../../memory/layout.ts';
import { limitCountOf } from './composite-cell.ts';

const HOLDER_BITS = 32;

/** Frees the slots of a bucket with several limits that an ended process held. */
export function freeSlots(place: CellPlace, process: number): void {
  const limits = limitCountOf(place);
  if (limits === 1) return;
  const { i64 } = place.region;
  for (let slot = 0; slot < SLOT_COUNT; slot++) {
    const at = (place.offset + slotsAt(limits) + slot * slotBytes(limits) + SLOT.state) >> 3;
    const state = Atomics.load(i64, at);
    const holder = BigInt.asUintN(HOLDER_BITS, state);
    if (Number(holder) !== process) continue;
    // The slot cannot become live from now on. If it is live, the next change takes it over.
    const word = Atomics.load(i64, (place.offset + CELL.word) >> 3);
    if (Number(BigInt.asUintN(SLOT_BITS, word >> BigInt(INDEX_BITS))) === slot) continue;
    Atomics.compareExchange(i64, at, state, state - holder);
  }
}
