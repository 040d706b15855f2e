import { exchange64, load64 } from '../accesses';
import {
  CELL_word,
  INDEX_BITS,
  INDEX_MASK,
  WINDOW_OUTCOME_newSlot,
  WINDOW_ring,
} from '../constants';
import { failExchange, word as known } from '../results';
import {
  AGAIN,
  bitsIn,
  countOf,
  firstSlotIn,
  intervalTicksOf,
  inWord,
  knownBits,
  knownLimit,
  knownRecord,
  leaveNext,
  leaveState,
  leaveWait,
  originIn,
  recordOf,
  remember,
  replaceRecord,
  shiftIn,
  ticksAt,
  UNDECIDED,
  unitIn,
  until,
} from './record';

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
// of the limit (see below). So a head never recurs under another record.

// A head that is loaded after the clock is read will do, unless its slot began after that reading.
//
// If slots keep their length, slots and counts stay. The shift grows by 1, and with it the number
// in the head, which therefore only grows: no head recurs.
//
// Slots of another length cannot continue the old ones. So the window's tokens move to one new
// slot, which begins now and is later than all kept ones by a whole window. They leave the window
// together, one new interval later, so no interval of either length admits more than the limits
// allow.
//
// A sealed head is opened first, so a slot is kept under the record in which it was sealed.

const NEW_SLOT: i32 = WINDOW_OUTCOME_newSlot as i32;

function sealOf(bits: i32): i64 {
  return (1 as i64) << (bits + INDEX_BITS);
}

/** The number of an entry's slot; of a head's slot, with the shift. */
function numberOf(word: i64, bits: i32): i64 {
  return ((word as u64) >> (bits + 1 + INDEX_BITS)) as i64;
}

/** The word of a slot with a count of 0. */
function wordAt(number: i64, bits: i32, index: i64): i64 {
  return (number << (bits + 1 + INDEX_BITS)) | index;
}

/** The largest number of a slot in the head. That slot never ends: the limiter's life is over. */
function lastNumber(bits: i32): i64 {
  return ((-1 as u64) >> (bits + 1 + INDEX_BITS)) as i64;
}

/** The number of the slot at an instant, with the shift. `first` is the number at tick 0. */
function numberAt(ticks: f64, slotTicks: f64, first: f64, bits: i32): i64 {
  return min((floor(ticks / slotTicks) + first) as i64, lastNumber(bits));
}

/** Whether the slot of a head's number is over. */
function isPast(ticks: f64, slotTicks: f64, first: f64, number: f64, bits: i32): bool {
  return ticks >= (number + 1 - first) * slotTicks && number < (lastNumber(bits) as f64);
}

/** The length of a slot, rounded up so that all slots together cover the interval. */
function slotTicksOf(intervalMs: f64, slots: i32): f64 {
  return ceil(intervalTicksOf(intervalMs) / slots);
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

/** The sum of the kept slots of the window that ends with a head's slot. */
function sumBefore(cell: usize, bits: i32, slots: i32, slot: f64): f64 {
  const index = indexOf(slot, slots);
  let sum: f64 = 0;
  for (let age = 1; age < slots; age++) sum += keptAt(cell, bits, slots, slot, index, age);
  return sum;
}

/** The slot for which `slidingKept` has computed the sum. */
let keptSlot: f64 = 0;

/** Adds up the kept slots before that of the last call's head. */
export function slidingKept(cell: usize, slots: i32): f64 {
  const record = recordOf(cell, known);
  const bits = bitsIn(record);
  keptSlot = (numberOf(known, bits) as f64) - shiftIn(record);
  return sumBefore(cell, bits, slots, keptSlot);
}

export function slidingKeptSlot(): f64 {
  return keptSlot;
}

/** Performs the missing steps of the three. None takes effect twice. */
function openNext(cell: usize, bits: i32, slots: i32, shift: f64, word: i64, nowNumber: i64): void {
  const sealed = word | sealOf(bits);
  if (sealed == word) {
    // The numbers of a record are valid if the word still names it after they were read.
    if (load64(cell + CELL_word) != word) return;
  } else if (exchange64(cell + CELL_word, word, sealed) != word) {
    failExchange();
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
 * Decides on a word at a reading: returns the tokens to take, or an outcome. `kept` is the sum for
 * the slot `keptFor`.
 */
export function slidingDecide(
  cell: usize,
  slots: i32,
  word: i64,
  nowUs: f64,
  least: i32,
  most: i32,
  withState: bool,
  isEarlier: bool,
  keptFor: f64,
  kept: f64,
): i32 {
  const record = knownRecord;
  const bits = knownBits;
  const limit = knownLimit;
  const slotTicks = unitIn(record);
  const shift = shiftIn(record);
  const first = firstSlotIn(record) + shift;
  const origin = originIn(record);
  const ticks = ticksAt(nowUs, origin);
  const number = numberOf(word, bits) as f64;
  if (!isEarlier && (withState || ticks < (number - first) * slotTicks)) return AGAIN;
  if (isPast(ticks, slotTicks, first, number, bits) || (word & sealOf(bits)) != 0) {
    openNext(cell, bits, slots, shift, word, numberAt(ticks, slotTicks, first, bits));
    return UNDECIDED;
  }
  const slot = number - shift;
  if (slot != keptFor) {
    remember(cell, word, nowUs);
    return NEW_SLOT;
  }
  const count = countOf(word, bits);
  const room = ((limit - count) as f64) - kept;
  const taken = room >= (most as f64) ? most : room >= (least as f64) ? (room as i32) : 0;
  const endOf = first - shift - slots;
  // Ring entries read here belong to this head only if the head is unchanged afterwards.
  if (least > limit) {
    leaveWait(Infinity);
  } else if (taken < least) {
    const age = kept == 0 ? 0 : ageThatLeaves(cell, bits, slots, slot, limit - least - count, kept);
    leaveWait(until((slot - age - endOf) * slotTicks, nowUs, origin));
  }
  if (withState) {
    const age = taken + count > 0 ? 0 : newestAge(cell, bits, slots, slot);
    const end = (slot - age - endOf) * slotTicks;
    const fullUs = age == slots ? 0 : until(end, nowUs, origin);
    const left = max<f64>(0, room - taken) as i32;
    const rest = limit - left - 1 - count - taken;
    const nextAge = kept == 0 ? 0 : ageThatLeaves(cell, bits, slots, slot, rest, kept);
    const nextEnd = (slot - nextAge - endOf) * slotTicks;
    leaveState(left, limit, fullUs, until(nextEnd, nowUs, origin));
  }
  leaveNext(word + inWord(taken));
  return taken;
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

/** Whether the slot of a head is over at a reading, or sealed. */
export function isSlotOver(cell: usize, word: i64, nowUs: f64): bool {
  const record = recordOf(cell, word);
  const bits = bitsIn(record);
  const first = firstSlotIn(record) + shiftIn(record);
  const ticks = ticksAt(nowUs, originIn(record));
  const number = numberOf(word, bits) as f64;
  return isPast(ticks, unitIn(record), first, number, bits) || (word & sealOf(bits)) != 0;
}

/** Attempts once to put a new limit in force, on the head that was looked at. */
export function slidingReconfigureAt(
  cell: usize,
  slots: i32,
  nowUs: f64,
  newLimit: i32,
  newIntervalMs: f64,
): i32 {
  const word = known;
  const record = recordOf(cell, word);
  const bits = bitsIn(record);
  const slotTicks = unitIn(record);
  const shift = shiftIn(record);
  const first = firstSlotIn(record) + shift;
  const oldOrigin = originIn(record);
  const number = numberOf(word, bits) as f64;
  const ticks = ticksAt(nowUs, oldOrigin);
  if (isSlotOver(cell, word, nowUs)) {
    openNext(cell, bits, slots, shift, word, numberAt(ticks, slotTicks, first, bits));
    return AGAIN;
  }
  const newSlotTicks = slotTicksOf(newIntervalMs, slots);
  const moves = newSlotTicks != slotTicks;
  const newNumber = (number as i64) + (moves ? (slots as i64) : 1);
  if (newNumber >= lastNumber(bits)) return UNDECIDED;
  const kept = moves ? sumBefore(cell, bits, slots, number - shift) : 0;
  const count = (countOf(word, bits) as i64) + (kept as i64);
  const newShift = moves ? shift : shift + 1;
  // If the clock has stepped back, the new slot begins when the old one did.
  const begin = max(ticks, (number - first) * slotTicks);
  const origin = moves ? oldOrigin + begin : oldOrigin;
  const firstSlot = moves ? (newNumber as f64) - newShift : first - shift;
  const next = wordAt(newNumber, bits, 0) | (count << INDEX_BITS);
  return replaceRecord(
    cell,
    word,
    next,
    false,
    bits,
    newLimit,
    newIntervalMs,
    origin,
    firstSlot,
    newShift,
    newSlotTicks,
  );
}
