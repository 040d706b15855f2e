import { exchange64, load64 } from './accesses';
import {
  CELL_word,
  FIRST_SLOT,
  WINDOW_OUTCOME_again,
  WINDOW_OUTCOME_newSlot,
  WINDOW_ring,
} from './constants';
import { beginRaces, leaveWord, loseRace } from './results';
import { leaveSurvey, leaveWait, ticksAt, until } from './window';
import { joined } from './arithmetic';

// A window of slots. The word (the head) holds the current slot's number and count; a ring holds
// the previous slots. The next slot opens in three steps, and any thread can perform each of them:
//
//     seal     head: (slot, count) -> (slot, sealed, count)       no more admissions in this slot
//     keep     ring[slot % slots]: an older entry -> the sealed word
//     open     head: (slot, sealed, count) -> (new slot, 0)
//
// A thread that finds the head sealed performs the missing steps. A late thread's exchange fails,
// because the slot numbers in the head and in each place of the ring only grow.
//
// At most `limit` in any `slots` consecutive slots: while the head is at a slot, the entries of the
// `slots - 1` slots before it have all been kept and no longer change (the next slot kept in any of
// their places is later than the head's). An admission's exchange finds the head unchanged, so the
// sum computed in the meantime is the sum at the instant of the exchange.
//
// Each admission counts in the slot of a clock reading within its call: the clock is read after a
// head of that slot was loaded, and the slot is not over. If the clock steps back, the head's slot
// continues: time here is the latest that any thread has seen.

const AGAIN: i32 = WINDOW_OUTCOME_again as i32;
const NEW_SLOT: i32 = WINDOW_OUTCOME_newSlot as i32;

function countOf(word: i64, bits: i32): i32 {
  return (word & ((1 << bits) - 1)) as i32;
}

function sealOf(bits: i32): i64 {
  return 1 << bits;
}

function slotOf(word: i64, bits: i32): u64 {
  return (word as u64) >> (bits + 1);
}

/** The word of the same slot with a count of 0: cheaper to compare than the slot number. */
function baseOf(word: i64, bits: i32): i64 {
  return word & (-(2 << bits) as i64);
}

/** A slot's index in the ring. Exact, as slots stay below 2^53, and faster than a division. */
function indexOf(slot: f64, slots: i32): i32 {
  return (slot - floor(slot / slots) * slots) as i32;
}

function placeAt(cell: usize, index: i32): usize {
  return cell + WINDOW_ring + (index as usize) * 8;
}

/** The count of the slot `age` slots before the head's; `base` and `index` are the head's. */
function keptAt(cell: usize, bits: i32, slots: i32, base: i64, index: i32, age: i32): i32 {
  const kept = load64(placeAt(cell, index < age ? index - age + slots : index - age));
  // A slot without admissions was never kept: its place still holds an older slot.
  return baseOf(kept, bits) == base - ((age as i64) << (bits + 1)) ? countOf(kept, bits) : 0;
}

let sum: f64 = 0;

/** The result of `slidingAddUp`. */
export function slidingKept(): f64 {
  return sum;
}

/** Adds up the kept slots of the window that ends with the head's slot; returns the head's slot. */
export function slidingAddUp(cell: usize, bits: i32, slots: i32, low: i32, high: i32): f64 {
  const word = joined(low, high);
  const base = baseOf(word, bits);
  const slot = slotOf(word, bits) as i64 as f64;
  const index = indexOf(slot, slots);
  let kept: f64 = 0;
  for (let age = 1; age < slots; age++) kept += keptAt(cell, bits, slots, base, index, age);
  sum = kept;
  return slot;
}

/** Performs the missing ones of the three steps. None takes effect twice. */
function openNext(cell: usize, bits: i32, slots: i32, word: i64, nowSlot: i64): void {
  const sealed = word | sealOf(bits);
  if (sealed != word && exchange64(cell + CELL_word, word, sealed) != word) {
    loseRace();
    return;
  }
  const slot = slotOf(word, bits);
  const place = placeAt(cell, indexOf(slot as i64 as f64, slots));
  const kept = load64(place);
  if (slotOf(kept, bits) < slot) exchange64(place, kept, sealed);
  // The thread that sealed the slot saw a later one, even if the clock has stepped back since.
  const next = max(nowSlot, (slot as i64) + 1);
  exchange64(cell + CELL_word, sealed, next << (bits + 1));
}

/**
 * Attempts on a head that was loaded before the clock was read, until the head's slot changes.
 * `kept` is the sum for the slot `keptFor`.
 */
export function slidingTakeAt(
  cell: usize,
  limit: i32,
  bits: i32,
  slots: i32,
  slotTicks: f64,
  originTicks: f64,
  low: i32,
  high: i32,
  nowUs: f64,
  keptFor: f64,
  kept: f64,
  least: i32,
  most: i32,
  survey: bool,
): i32 {
  beginRaces();
  let word = joined(low, high);
  const base = baseOf(word, bits);
  const slot = slotOf(word, bits) as i64 as f64;
  const ticks = ticksAt(nowUs, originTicks);
  const isOver = ticks >= (slot + 1 - FIRST_SLOT) * slotTicks;
  while (baseOf(word, bits) == base) {
    if (isOver || (word & sealOf(bits)) != 0) {
      openNext(cell, bits, slots, word, (floor(ticks / slotTicks) as i64) + FIRST_SLOT);
      word = load64(cell + CELL_word);
      continue;
    }
    if (slot != keptFor) return NEW_SLOT;
    const count = countOf(word, bits);
    const room = ((limit - count) as f64) - kept;
    const taken = room >= (most as f64) ? most : room >= (least as f64) ? (room as i32) : 0;
    // Ring entries read here belong to this head only if the head is unchanged afterwards.
    if (taken < least) {
      const age =
        kept == 0 ? 0 : ageThatLeaves(cell, bits, slots, base, slot, limit - least - count, kept);
      leaveWait(untilGone(slots, slotTicks, originTicks, slot, age, nowUs));
    }
    if (survey) {
      const age = taken + count > 0 ? 0 : newestAge(cell, bits, slots, base, slot);
      const fullUs = age == slots ? 0 : untilGone(slots, slotTicks, originTicks, slot, age, nowUs);
      leaveSurvey(max<f64>(0, room - taken) as i32, fullUs);
    }
    const next = word + taken;
    const seen = taken == 0 ? load64(cell + CELL_word) : exchange64(cell + CELL_word, word, next);
    if (seen == word) {
      leaveWord(next);
      return taken;
    }
    if (taken > 0) loseRace();
    word = seen;
  }
  return AGAIN;
}

/** Microseconds until the slot `age` slots before the head's no longer counts. */
function untilGone(
  slots: i32,
  slotTicks: f64,
  originTicks: f64,
  slot: f64,
  age: i32,
  nowUs: f64,
): f64 {
  return until((slot - age + slots - FIRST_SLOT) * slotTicks, nowUs, originTicks);
}

/** The age of the newest slot that must drop out before at most `most` of `kept` remain. */
function ageThatLeaves(
  cell: usize,
  bits: i32,
  slots: i32,
  base: i64,
  slot: f64,
  most: i32,
  kept: f64,
): i32 {
  const index = indexOf(slot, slots);
  let rest = kept;
  let age = slots - 1;
  for (; age > 0; age--) {
    rest -= keptAt(cell, bits, slots, base, index, age);
    if (rest <= most) break;
  }
  return age;
}

/** The age of the newest non-empty slot before the head's, or `slots` if there is none. */
function newestAge(cell: usize, bits: i32, slots: i32, base: i64, slot: f64): i32 {
  const index = indexOf(slot, slots);
  let age = 1;
  while (age < slots && keptAt(cell, bits, slots, base, index, age) == 0) age++;
  return age;
}
