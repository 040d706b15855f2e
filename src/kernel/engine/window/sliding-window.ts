import { exchange64, load64 } from '../accesses';
import { joined } from '../arithmetic';
import {
  CELL_word,
  INDEX_BITS,
  INDEX_MASK,
  WINDOW_OUTCOME_again,
  WINDOW_OUTCOME_changed,
  WINDOW_OUTCOME_newSlot,
  WINDOW_ring,
} from '../constants';
import { beginRaces, leaveWord, loseRace } from '../results';
import { leaveSurvey, leaveWait, ticksAt, until } from '.';
import { isInForce } from './record';

// A window of slots. The word (the head) holds the current slot's number and count; a ring holds
// the previous slots. The next slot opens in three steps, and any thread can perform each of them:
//
//     seal     head: (slot, count) -> (slot, sealed, count)       no more admissions in this slot
//     keep     ring[slot % slots]: an older entry -> the sealed slot and its count
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
//
// In the head, the slot's number has the live record's `shift` added, which grows with each change
// of the limit (see window/sliding-change.ts). So a head never recurs under another record.

const AGAIN: i32 = WINDOW_OUTCOME_again as i32;
const CHANGED: i32 = WINDOW_OUTCOME_changed as i32;
const NEW_SLOT: i32 = WINDOW_OUTCOME_newSlot as i32;

export function countOf(word: i64, bits: i32): i32 {
  return ((word >> INDEX_BITS) & ((1 << bits) - 1)) as i32;
}

export function sealOf(bits: i32): i64 {
  return (1 as i64) << (bits + INDEX_BITS);
}

/** The number of an entry's slot; of a head's slot, with the shift. */
export function numberOf(word: i64, bits: i32): i64 {
  return ((word as u64) >> (bits + 1 + INDEX_BITS)) as i64;
}

/** The word of a slot with a count of 0. */
export function wordAt(number: i64, bits: i32, index: i64): i64 {
  return (number << (bits + 1 + INDEX_BITS)) | index;
}

/** The largest number of a slot in the head. That slot never ends: the limiter's life is over. */
export function lastNumber(bits: i32): i64 {
  return ((-1 as u64) >> (bits + 1 + INDEX_BITS)) as i64;
}

/** The number of the slot at an instant, with the shift. `first` is the number at tick 0. */
export function numberAt(ticks: f64, slotTicks: f64, first: f64, bits: i32): i64 {
  return min((floor(ticks / slotTicks) + first) as i64, lastNumber(bits));
}

/** Whether the slot of a head's number is over. */
export function isPast(ticks: f64, slotTicks: f64, first: f64, number: f64, bits: i32): bool {
  return number < (lastNumber(bits) as f64) && ticks >= (number + 1 - first) * slotTicks;
}

/**
 * A slot's index in the ring. Exact, because slots stay below 2^53, and faster than a division. The
 * number of a slot in a damaged word may be larger, but must not lead out of the ring.
 */
function indexOf(slot: f64, slots: i32): i32 {
  return max(0, min((slot - floor(slot / slots) * slots) as i32, slots - 1));
}

function placeAt(cell: usize, index: i32): usize {
  return cell + WINDOW_ring + (index as usize) * 8;
}

/** The count of the slot `age` slots before `slot`, whose index in the ring is given. */
function keptAt(cell: usize, bits: i32, slots: i32, slot: f64, index: i32, age: i32): i32 {
  const kept = load64(placeAt(cell, index < age ? index - age + slots : index - age));
  // A slot without admissions was never kept: its place still holds an older slot.
  return numberOf(kept, bits) == (slot as i64) - age ? countOf(kept, bits) : 0;
}

let sum: f64 = 0;

/** The result of `slidingAddUp`. */
export function slidingKept(): f64 {
  return sum;
}

/** Adds up the kept slots of the window that ends with the head's slot; returns that slot. */
export function slidingAddUp(
  cell: usize,
  bits: i32,
  slots: i32,
  shift: f64,
  low: i32,
  high: i32,
): f64 {
  const slot = (numberOf(joined(low, high), bits) as f64) - shift;
  const index = indexOf(slot, slots);
  let kept: f64 = 0;
  for (let age = 1; age < slots; age++) kept += keptAt(cell, bits, slots, slot, index, age);
  sum = kept;
  return slot;
}

/** Performs the missing steps of the three. None takes effect twice. */
export function openNext(
  cell: usize,
  bits: i32,
  slots: i32,
  shift: f64,
  word: i64,
  nowNumber: i64,
): void {
  const sealed = word | sealOf(bits);
  if (sealed != word && exchange64(cell + CELL_word, word, sealed) != word) {
    loseRace();
    return;
  }
  const number = numberOf(word, bits);
  const slot = number - (shift as i64);
  const place = placeAt(cell, indexOf(slot as f64, slots));
  const kept = load64(place);
  if (numberOf(kept, bits) < slot) {
    exchange64(place, kept, sealed - wordAt(shift as i64, bits, 0));
  }
  // The thread that sealed the slot saw a later one, even if the clock has stepped back since.
  const next = max(nowNumber, number + 1);
  exchange64(cell + CELL_word, sealed, wordAt(next, bits, word & INDEX_MASK));
}

/**
 * Attempts on a head that was loaded before the clock was read, until the head's slot changes.
 * `first` is the head's number at tick 0; `kept` is the sum for the slot `keptFor`.
 */
export function slidingTakeAt(
  cell: usize,
  generation: i32,
  limit: i32,
  bits: i32,
  slots: i32,
  slotTicks: f64,
  originTicks: f64,
  first: f64,
  shift: f64,
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
  if (!isInForce(cell, word, generation)) return CHANGED;
  const number = numberOf(word, bits) as f64;
  const slot = number - shift;
  const ticks = ticksAt(nowUs, originTicks);
  const isOver = isPast(ticks, slotTicks, first, number, bits);
  while ((numberOf(word, bits) as f64) == number) {
    if (isOver || (word & sealOf(bits)) != 0) {
      openNext(cell, bits, slots, shift, word, numberAt(ticks, slotTicks, first, bits));
      word = load64(cell + CELL_word);
      continue;
    }
    if (slot != keptFor) return NEW_SLOT;
    const count = countOf(word, bits);
    const room = ((limit - count) as f64) - kept;
    const taken = room >= (most as f64) ? most : room >= (least as f64) ? (room as i32) : 0;
    const endOf = first - shift - slots;
    // Ring entries read here belong to this head only if the head is unchanged afterwards.
    if (least > limit) {
      leaveWait(Infinity);
    } else if (taken < least) {
      const age =
        kept == 0 ? 0 : ageThatLeaves(cell, bits, slots, slot, limit - least - count, kept);
      leaveWait(until((slot - age - endOf) * slotTicks, nowUs, originTicks));
    }
    if (survey) {
      const age = taken + count > 0 ? 0 : newestAge(cell, bits, slots, slot);
      const fullUs = age == slots ? 0 : until((slot - age - endOf) * slotTicks, nowUs, originTicks);
      leaveSurvey(max<f64>(0, room - taken) as i32, fullUs);
    }
    const next = word + ((taken as i64) << INDEX_BITS);
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

/** The age of the newest slot that must leave the window before at most `most` of `kept` remain. */
function ageThatLeaves(cell: usize, bits: i32, slots: i32, slot: f64, most: i32, kept: f64): i32 {
  const index = indexOf(slot, slots);
  let rest = kept;
  let age = slots - 1;
  for (; age > 0; age--) {
    rest -= keptAt(cell, bits, slots, slot, index, age);
    if (rest <= most) break;
  }
  return age;
}

/** The age of the newest non-empty slot before `slot`, or `slots` if there is none. */
function newestAge(cell: usize, bits: i32, slots: i32, slot: f64): i32 {
  const index = indexOf(slot, slots);
  let age = 1;
  while (age < slots && keptAt(cell, bits, slots, slot, index, age) == 0) age++;
  return age;
}
