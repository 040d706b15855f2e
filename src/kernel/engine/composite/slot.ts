import { exchange64, load32, load64 } from '../accesses';
import {
  BUCKET_BYTES,
  CELL_nonce,
  CELL_word,
  DIGEST_BYTES,
  INDEX_BITS,
  INDEX_MASK,
  KEPT_SLOTS,
  LINE_BYTES,
  NO_HOLDER,
  RECORD_COUNT,
  SLOT_ATTEMPTS,
  SLOT_BITS,
  SLOT_COUNT,
  SLOT_MASK,
  SLOT_state,
  SLOT_zeroTimes,
} from '../constants';
import { holder } from '../holder';
import { forget } from '../bucket/record';

// The slots of a composite bucket. The word names the live slot, which has the zero-times of all
// limits. A call writes the new zero-times into a spare slot, and then exchanges the word.
//
// Invariant: a held slot is live or belongs to one thread, and only that thread writes it. The live
// slot is held too, so it is never claimed. An exchange makes the spare slot live. The previously
// live slot becomes the new spare if its state can still be exchanged: recovery frees the slots of
// ended processes, except for the live one.
//
// A state names the process that holds the slot or made it live. It counts the holders, so no state
// recurs.

const VERSION_SHIFT: i64 = INDEX_BITS + SLOT_BITS;
const HOLDER_BITS: i64 = 32;
const HOLDER_MASK: i64 = 0xffffffff;

/** The address of a limit's records, laid out as in a bucket at that address. */
export function blockAt(cell: usize, limit: i32): usize {
  return cell + limit * BUCKET_BYTES;
}

/** The digest of a word's first limit. The other limits' digests follow. */
export function digestsAt(cell: usize, count: i32, record: i32): usize {
  return cell + count * BUCKET_BYTES + record * count * DIGEST_BYTES;
}

export function slotAt(cell: usize, count: i32, slot: i32): usize {
  const lines = (SLOT_zeroTimes + 8 * count + LINE_BYTES - 1) / LINE_BYTES;
  const slots = cell + count * (BUCKET_BYTES + RECORD_COUNT * DIGEST_BYTES);
  return slots + slot * lines * LINE_BYTES;
}

/** The address of a limit's zero-time in a slot. */
export function zeroTimeAt(slot: usize, limit: i32): usize {
  return slot + SLOT_zeroTimes + (limit << 3);
}

export function recordOf(word: i64): i32 {
  return (word & INDEX_MASK) as i32;
}

export function slotOf(word: i64): i32 {
  return ((word >> INDEX_BITS) & SLOT_MASK) as i32;
}

/** The word after this one, with a version that no word of this cell has had. */
export function wordAfter(word: i64, slot: i32, record: i32): i64 {
  const version = (word >> VERSION_SHIFT) + 1;
  return (version << VERSION_SHIFT) | (slot << INDEX_BITS) | record;
}

/** The cell in which this thread holds a spare slot, or 0; and that cell's nonce. */
let spareCell: usize = 0;
let spareNonce: i32 = 0;
/** The spare slot and its address. After it is freed, the place to look for another. */
export let spare: i32 = 0;
export let spareAt: usize = 0;
let spareState: i64 = 0;

function heldAfter(state: i64): i64 {
  return (((state >> HOLDER_BITS) + 1) << HOLDER_BITS) | (holder as i64);
}

/** Claims a spare slot, unless this thread has kept one in the cell; false if none is free. */
export function takeSpare(cell: usize, count: i32): bool {
  const nonce = load32(cell + CELL_nonce);
  if (cell == spareCell && nonce == spareNonce && load64(spareAt + SLOT_state) == spareState) {
    return true;
  }
  freeSpare();
  for (let attempt = 0; attempt < SLOT_ATTEMPTS; attempt++) {
    for (let step = 0; step < SLOT_COUNT; step++) {
      const slot = (spare + step) & SLOT_MASK;
      const at = slotAt(cell, count, slot);
      const state = load64(at + SLOT_state);
      if ((state & HOLDER_MASK) != NO_HOLDER) continue;
      const held = heldAfter(state);
      if (exchange64(at + SLOT_state, state, held) != state) continue;
      spareCell = cell;
      spareNonce = nonce;
      spare = slot;
      spareAt = at;
      spareState = held;
      return true;
    }
  }
  return false;
}

/** Frees the spare slot, unless the memory belongs to another cell by now. */
function freeSpare(): void {
  if (spareCell == 0) return;
  if (load32(spareCell + CELL_nonce) == spareNonce) {
    exchange64(spareAt + SLOT_state, spareState, spareState & ~HOLDER_MASK);
  }
  spareCell = 0;
}

/** Drops the state of a region, before the engine turns to another region's memory. */
export function leaveRegion(): void {
  forget();
  freeSpare();
}

/**
 * Replaces the word by one that names the spare slot, unless it has changed. The previously live
 * slot becomes the spare one; if it cannot, there is no spare slot until one is taken again.
 * Returns the previous word.
 */
export function exchangeWord(cell: usize, count: i32, word: i64, next: i64): i64 {
  const slot = slotOf(word);
  const at = slotAt(cell, count, slot);
  const state = load64(at + SLOT_state);
  const seen = exchange64(cell + CELL_word, word, next);
  if (seen != word) return seen;
  const isOwn = (state & HOLDER_MASK) == (holder as i64);
  const held = isOwn ? state : heldAfter(state);
  if (!isOwn && exchange64(at + SLOT_state, state, held) != state) {
    spareCell = 0;
    return seen;
  }
  spare = slot;
  spareAt = at;
  spareState = held;
  return seen;
}

/**
 * At the end of a call, keeps only a slot with a low number, so that idle threads hold few slots.
 */
export function restSpare(): void {
  if (spare >= KEPT_SLOTS) freeSpare();
}
