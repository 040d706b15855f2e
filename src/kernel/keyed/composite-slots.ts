import type { CellPlace } from '../../memory/cell.ts';
import {
  ENTRY,
  HIGH_HALF,
  KEYED,
  KEYED_SLOT,
  keyedRackAt,
  keyedSlotBytes,
  keyedSlotCount,
  keyedSlotsAt,
  LOW_HALF,
  RACK_PLACES,
} from '../../memory/layout.ts';
import { TAG_BITS } from '../constants.ts';
import { readTable } from './cell.ts';

/** The number of bits in half of a holding or place. */
const HALF = 32;
const HOLDER_SHIFT = BigInt(HALF);
const HOLDER_MASK = 0xff;
const COUNT_SHIFT = 40n;
/** The amount that each change adds to a place. */
const PLACE_STEP = 2n ** 32n;
/** A damaged rack may have no empty place. */
const MOST_TRIES = 100 * RACK_PLACES;

function holderOf(holding: bigint): number {
  return Number(holding >> HOLDER_SHIFT) & HOLDER_MASK;
}

/** The slots of a table whose keys have several limits. */
class Slots {
  readonly #i32: Int32Array<SharedArrayBuffer>;
  readonly #i64: BigInt64Array<SharedArrayBuffer>;
  readonly #entries: number;
  readonly #entriesAt: number;
  readonly #rackAt: number;
  readonly #slotsAt: number;
  readonly #slotBytes: number;
  readonly #count: number;

  constructor(place: CellPlace) {
    const { entries, limitsPerKey } = readTable(place);
    this.#i32 = place.region.i32;
    this.#i64 = place.region.i64;
    this.#entries = entries + 1; // keys without a place share one entry
    this.#entriesAt = (place.offset + KEYED.table) >> 3;
    this.#rackAt = (place.offset + keyedRackAt(entries, limitsPerKey)) >> 3;
    this.#slotsAt = place.offset + keyedSlotsAt(entries, limitsPerKey);
    this.#slotBytes = keyedSlotBytes(limitsPerKey);
    this.#count = keyedSlotCount(entries);
  }

  #holdingAt(slot: number): number {
    return (this.#slotsAt + slot * this.#slotBytes + KEYED_SLOT.holding) >> 3;
  }

  /** The slots that a process holds or was the last to hold, with their holdings. */
  heldBy(process: number): { readonly slot: number; readonly holding: bigint }[] {
    const held: { slot: number; holding: bigint }[] = [];
    for (let slot = 0; slot < this.#count; slot++) {
      const at = this.#holdingAt(slot);
      // Most are held by others, and a BigInt for each would take long.
      if ((Atomics.load(this.#i32, 2 * at + HIGH_HALF) & HOLDER_MASK) !== process) continue;
      const holding = Atomics.load(this.#i64, at);
      if (holderOf(holding) === process) held.push({ slot, holding });
    }
    return held;
  }

  /** 1 for each slot that an entry or the rack names. */
  named(): Uint8Array {
    const named = new Uint8Array(this.#count);
    const mask = 2 ** (32 - Math.clz32(this.#count - 1)) - 1;
    for (let entry = 0; entry < this.#entries; entry++) {
      const at = this.#entriesAt + entry * ENTRY.step + ENTRY.state;
      const state = Atomics.load(this.#i32, 2 * at + LOW_HALF);
      // An unused entry has no tag, and the slot of its own number.
      named[state === 0 ? entry : (state >>> TAG_BITS) & mask] = 1;
    }
    for (let place = 0; place < RACK_PLACES; place++) {
      const slot = Atomics.load(this.#i32, 2 * (this.#rackAt + place) + LOW_HALF) - 1;
      if (slot >= 0) named[slot] = 1;
    }
    return named;
  }

  /** Takes a slot from a holder that has ended; false if another thread was faster. */
  take(slot: number, holding: bigint, process: number): boolean {
    const count = (holding >> COUNT_SHIFT) + 1n;
    const low = BigInt.asUintN(HALF, holding);
    const next = BigInt.asIntN(
      64,
      (count << COUNT_SHIFT) | (BigInt(process) << HOLDER_SHIFT) | low,
    );
    return Atomics.compareExchange(this.#i64, this.#holdingAt(slot), holding, next) === holding;
  }

  /** Puts a slot into the rack. While a slot is missing, a place there is empty. */
  put(slot: number): void {
    for (let step = 0; step < MOST_TRIES; step++) {
      const at = this.#rackAt + (step % RACK_PLACES);
      const empty = Atomics.load(this.#i64, at);
      if (BigInt.asUintN(HALF, empty) !== 0n) continue;
      const filled = empty + PLACE_STEP + BigInt(slot + 1);
      if (Atomics.compareExchange(this.#i64, at, empty, BigInt.asIntN(64, filled)) === empty)
        return;
    }
  }
}

/**
 * Returns to the rack the slots that an ended process held. `own`: the entry of this process. An
 * unnamed slot may also be one that another thread has just taken from its entry or place: both
 * threads then exchange the same holding, and one of them gets the slot.
 */
export function freeKeyedSlots(place: CellPlace, process: number, own: number): void {
  if (readTable(place).limitsPerKey === 0) return;
  const slots = new Slots(place);
  // First, because no other thread can name one of these before it has changed the holding.
  const held = slots.heldBy(process);
  if (held.length === 0) return;
  const named = slots.named();
  for (const { slot, holding } of held) {
    if (named[slot] === 0 && slots.take(slot, holding, own)) slots.put(slot);
  }
}
