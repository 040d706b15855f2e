import type { CellPlace } from '../../memory/cell.ts';
import {
  ENTRY,
  freeListAt,
  freePlaces,
  HIGH_HALF,
  KEYED,
  LOW_HALF,
  SET_SLOT,
  setSlotBytes,
  setSlotCount,
  setSlotsAt,
} from '../../memory/layout.ts';
import { TAG_BITS } from '../constants.ts';
import { awaitStillness } from '../records.ts';
import { type LimitSetEngine, layoutOf } from './cell.ts';

// Recovers the slots of ended threads and processes. A thread has at most one spare slot, which no
// entry and no place of the free list names. A slot is taken from it by an exchange of its holding,
// which the thread checks between loading the state of an entry and exchanging it. Of a process that
// may still run, a slot is taken only if its holding is the same after a second; then all states
// change (`fence`), so that an exchange fails that the thread has prepared before, and a slot that
// an entry names by then stays with it.

/** The number of bits in half of a holding or place. */
const HALF = 32;
const HOLDER_SHIFT = 32n;
const HOLDER_MASK = 0xff;
const COUNT_SHIFT = 40n;
/** The amount that each change adds to a place. */
const PLACE_STEP = 0x1_0000_0000n;
/** A damaged free list may have no empty place. */
const MOST_TRIES = 100;

/** A slot that nothing names, and its holding. */
interface Unnamed {
  readonly slot: number;
  readonly holding: bigint;
}

class Slots {
  readonly #i32: Int32Array<SharedArrayBuffer>;
  readonly #i64: BigInt64Array<SharedArrayBuffer>;
  readonly #entries: number;
  readonly #entriesAt: number;
  readonly #listAt: number;
  readonly #places: number;
  readonly #slotsAt: number;
  readonly #slotBytes: number;
  readonly #count: number;

  constructor({ region, offset }: CellPlace, entries: number, limits: number) {
    this.#i32 = region.i32;
    this.#i64 = region.i64;
    this.#entries = entries + 1; // one entry is shared
    this.#entriesAt = (offset + KEYED.table) >> 3;
    this.#listAt = (offset + freeListAt(entries, limits)) >> 3;
    this.#places = freePlaces(entries);
    this.#slotsAt = offset + setSlotsAt(entries, limits);
    this.#slotBytes = setSlotBytes(entries, limits);
    this.#count = setSlotCount(entries);
  }

  #holdingAt(slot: number): number {
    return (this.#slotsAt + slot * this.#slotBytes + SET_SLOT.holding) >> 3;
  }

  /** The slots that are unnamed; only those last held by a process, if one is given. */
  unnamed(process?: number): Unnamed[] {
    const held: Unnamed[] = [];
    // Read the holdings first: no other thread can name a slot before it has changed its holding.
    for (let slot = 0; slot < this.#count; slot++) {
      const at = this.#holdingAt(slot);
      const holder = Atomics.load(this.#i32, 2 * at + HIGH_HALF) & HOLDER_MASK;
      // Most are held by others, and a BigInt for each would take long.
      if (holder === 0 || (process !== undefined && holder !== process)) continue;
      const holding = Atomics.load(this.#i64, at);
      // Another thread may have taken the slot since.
      if (holderIn(holding) === holder) held.push({ slot, holding });
    }
    const named = held.length === 0 ? undefined : this.#named();
    return held.filter(({ slot }) => named?.[slot] === 0);
  }

  /** 1 for each slot that an entry or the free list names. */
  #named(): Uint8Array {
    const named = new Uint8Array(this.#count);
    const mask = 2 ** (32 - Math.clz32(this.#count - 1)) - 1;
    for (let entry = 0; entry < this.#entries; entry++) {
      const at = this.#entriesAt + entry * ENTRY.step + ENTRY.state;
      const state = Atomics.load(this.#i32, 2 * at + LOW_HALF);
      // An unused entry has no tag, and the slot of its own number.
      named[state === 0 ? entry : (state >>> TAG_BITS) & mask] = 1;
    }
    for (let place = 0; place < this.#places; place++) {
      const slot = Atomics.load(this.#i32, 2 * (this.#listAt + place) + LOW_HALF) - 1;
      if (slot >= 0) named[slot] = 1;
    }
    return named;
  }

  /** Takes a slot from its holder; undefined if another thread was faster. */
  take({ slot, holding }: Unnamed, holder: number): Unnamed | undefined {
    const count = (holding >> COUNT_SHIFT) + 1n;
    const next = BigInt.asIntN(
      64,
      (count << COUNT_SHIFT) | (BigInt(holder) << HOLDER_SHIFT) | BigInt.asUintN(HALF, holding),
    );
    const seen = Atomics.compareExchange(this.#i64, this.#holdingAt(slot), holding, next);
    return seen === holding ? { slot, holding: next } : undefined;
  }

  /** Whether the free list has a slot. */
  get hasFree(): boolean {
    const list = this.#i64.subarray(this.#listAt, this.#listAt + this.#places);
    return list.some((_, place) => BigInt.asUintN(HALF, Atomics.load(list, place)) !== 0n);
  }

  holderOf(slot: number): number {
    return Atomics.load(this.#i32, 2 * this.#holdingAt(slot) + HIGH_HALF) & HOLDER_MASK;
  }

  /** Puts a slot into the free list. While a slot is missing, a place there is empty. */
  put(slot: number): void {
    for (let step = 0; step < MOST_TRIES * this.#places; step++) {
      const at = this.#listAt + (step % this.#places);
      const empty = Atomics.load(this.#i64, at);
      if (BigInt.asUintN(HALF, empty) !== 0n) continue;
      const filled = BigInt.asIntN(64, empty + PLACE_STEP + BigInt(slot + 1));
      if (Atomics.compareExchange(this.#i64, at, empty, filled) === empty) return;
    }
  }
}

function holderIn(holding: bigint): number {
  return Number(holding >> HOLDER_SHIFT) & HOLDER_MASK;
}

function slotsOf(place: CellPlace): Slots {
  const { entries, limitCount } = layoutOf(place);
  return new Slots(place, entries, limitCount);
}

function keyOf({ slot, holding }: Unnamed): string {
  return `${slot}:${holding}`;
}

/** Returns the slots that an ended process held. `own`: the entry of this process. */
export function freeSlots(place: CellPlace, process: number, own: number): void {
  const slots = slotsOf(place);
  for (const unnamed of slots.unnamed(process)) {
    if (slots.take(unnamed, own) !== undefined) slots.put(unnamed.slot);
  }
}

/**
 * Returns the slots of threads of this process that have ended, or that make no progress; false if
 * no slot is free afterwards.
 */
export function recoverSlots(place: CellPlace, engine: LimitSetEngine): boolean {
  const slots = slotsOf(place);
  const own = place.region.sharing?.process;
  const before = new Set(slots.unnamed(own).map(keyOf));
  awaitStillness();
  const still = slots.unnamed(own).filter((one) => before.has(keyOf(one)));
  const taken = still.flatMap((one) => slots.take(one, own ?? slots.holderOf(one.slot)) ?? []);
  // Another thread may have returned them meanwhile.
  if (taken.length === 0) return slots.hasFree;
  engine.fence();
  const isOurs = new Set(taken.map(keyOf));
  for (const one of slots.unnamed(own)) if (isOurs.has(keyOf(one))) slots.put(one.slot);
  return true;
}
