import { exchange64, load64 } from './accesses';
import {
  CELL_word,
  FIRST_SLOT,
  WINDOW_OUTCOME_again,
  WINDOW_OUTCOME_newSlot,
  WINDOW_ring,
} from './constants';
import { beginRaces, loseRace } from './races';
import { leaveWord } from './receipt';
import { leaveSurvey, leaveWait, ticksAt, until } from './window';
import { joined } from './word';

// A window of slots. The word (the head) holds the current slot's number and count; a ring holds
// the slots before. The next slot opens in three steps, which any thread can go on with:
//
//     seal     head: (slot, count) -> (slot, sealed, count)       no more admissions in this slot
//     keep     ring[slot % slots]: an older entry -> the sealed word
//     open     head: (slot, sealed, count) -> (new slot, 0)
//
// A thread that finds the head sealed does the steps that are missing; who comes late finds its
// exchange fail, because numbers in the head and in each place of the ring only grow.
//
// At most `limit` in any `slots` consecutive slots: while the head stands at a slot, the entries of
// the `slots - 1` slots before it have all been kept and no longer change (the next write at the
// place of one of them keeps a slot that is later than the head's). An admission's exchange finds the
// head unchanged, so the sum that was added up meanwhile is the sum at its instant.
//
// Each admission counts in the slot of a reading of the clock within its call: the clock is read
// after a head of that slot was seen, and the slot is not over. Where the clock has stepped back,
// the head's slot goes on: time here is the latest that any thread saw.

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

/** A slot's index in the ring. Slots stay below 2^53, where this is exact, and faster than a division. */
function indexOf(slot: u64, slots: i32): i32 {
  const number = slot as i64 as f64;
  return (number - floor(number / slots) * slots) as i32;
}

function placeAt(cell: usize, index: i32): usize {
  return cell + WINDOW_ring + (index as usize) * 8;
}

/** The count of the slot so many before the head's, whose index is given. */
function keptAt(cell: usize, bits: i32, slots: i32, slot: u64, index: i32, age: i32): i32 {
  const kept = load64(placeAt(cell, index < age ? index - age + slots : index - age));
  // A slot in which nobody came was never kept: an older one still has its place.
  return slotOf(kept, bits) == slot - age ? countOf(kept, bits) : 0;
}

let sum: f64 = 0;

/** What `slidingAddUp` found. */
export function slidingKept(): f64 {
  return sum;
}

/** Adds up the slots that count beside a head's, and returns the head's slot. */
export function slidingAddUp(cell: usize, bits: i32, slots: i32, low: i32, high: i32): f64 {
  const slot = slotOf(joined(low, high), bits);
  const index = indexOf(slot, slots);
  let kept: i64 = 0;
  for (let age = 1; age < slots; age++) kept += keptAt(cell, bits, slots, slot, index, age);
  sum = kept as f64;
  return slot as f64;
}

/** Does what is missing of the three steps. None of them is done twice. */
function openNext(cell: usize, bits: i32, slots: i32, word: i64, nowSlot: i64): void {
  const sealed = word | sealOf(bits);
  if (sealed != word && exchange64(cell + CELL_word, word, sealed) != word) {
    loseRace();
    return;
  }
  const slot = slotOf(word, bits);
  const place = placeAt(cell, indexOf(slot, slots));
  const kept = load64(place);
  if (slotOf(kept, bits) < slot) exchange64(place, kept, sealed);
  // Who sealed the slot saw a later one, even if the clock has stepped back since.
  const next = max(nowSlot, (slot as i64) + 1);
  exchange64(cell + CELL_word, sealed, next << (bits + 1));
}

/**
 * Attempts on a head that was seen before the clock was read, as long as its slot is the same.
 * `kept` is what was added up for the slot `keptFor`.
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
  const slot = slotOf(word, bits);
  const ticks = ticksAt(nowUs, originTicks);
  const isOver = ticks >= ((slot + 1 - FIRST_SLOT) as f64) * slotTicks;
  while (slotOf(word, bits) == slot) {
    if (isOver || (word & sealOf(bits)) != 0) {
      openNext(cell, bits, slots, word, (floor(ticks / slotTicks) as i64) + FIRST_SLOT);
      word = load64(cell + CELL_word);
      continue;
    }
    if ((slot as f64) != keptFor) return NEW_SLOT;
    const count = countOf(word, bits);
    const room = ((limit - count) as f64) - kept;
    const taken = room >= (most as f64) ? most : room >= (least as f64) ? (room as i32) : 0;
    // What is read of the ring belongs to the head if that is still the same afterwards.
    if (taken < least)
      leaveWait(
        untilRoom(
          cell,
          limit,
          bits,
          slots,
          slotTicks,
          originTicks,
          slot,
          nowUs,
          least,
          kept + count,
        ),
      );
    if (survey) {
      const age = taken + count > 0 ? 0 : newestAge(cell, bits, slots, slot);
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

/** Until the slot so many before the head's no longer counts. */
function untilGone(
  slots: i32,
  slotTicks: f64,
  originTicks: f64,
  slot: u64,
  age: i32,
  nowUs: f64,
): f64 {
  return until(((slot as f64) - age + slots - FIRST_SLOT) * slotTicks, nowUs, originTicks);
}

/** Until enough of the oldest slots have dropped out. */
function untilRoom(
  cell: usize,
  limit: i32,
  bits: i32,
  slots: i32,
  slotTicks: f64,
  originTicks: f64,
  slot: u64,
  nowUs: f64,
  tokens: i32,
  held: f64,
): f64 {
  const index = indexOf(slot, slots);
  let rest = held;
  let age = slots - 1;
  for (; age > 0; age--) {
    rest -= keptAt(cell, bits, slots, slot, index, age);
    if (rest + tokens <= limit) break;
  }
  return untilGone(slots, slotTicks, originTicks, slot, age, nowUs);
}

/** The age of the newest slot before the head's that holds anything, or `slots`. */
function newestAge(cell: usize, bits: i32, slots: i32, slot: u64): i32 {
  const index = indexOf(slot, slots);
  let age = 1;
  while (age < slots && keptAt(cell, bits, slots, slot, index, age) == 0) age++;
  return age;
}
