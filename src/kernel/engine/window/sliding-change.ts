import { NONE } from '../claim';
import { exchange64 } from '../accesses';
import { joined } from '../arithmetic';
import {
  CELL_word,
  INDEX_BITS,
  WINDOW_OUTCOME_again,
  WINDOW_OUTCOME_busy,
  WINDOW_OUTCOME_changed,
  WINDOW_OUTCOME_damaged,
  WINDOW_OUTCOME_newSlot,
} from '../constants';
import {
  countOf,
  isPast,
  lastNumber,
  numberAt,
  numberOf,
  openNext,
  sealOf,
  wordAt,
} from './sliding-window';
import { ticksAt } from '.';
import {
  claimWindowRecord,
  isInForce,
  nextWindowGeneration,
  publishWindowRecord,
  writeWindowRecord,
} from './record';

// Changes to a sliding window other than admissions.
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

const AGAIN: i32 = WINDOW_OUTCOME_again as i32;
const BUSY: i32 = WINDOW_OUTCOME_busy as i32;
const CHANGED: i32 = WINDOW_OUTCOME_changed as i32;
const DAMAGED: i32 = WINDOW_OUTCOME_damaged as i32;
const NEW_SLOT: i32 = WINDOW_OUTCOME_newSlot as i32;

/** Puts back up to `tokens` of the current slot, unless it is over; returns their number. */
export function slidingReturnAt(
  cell: usize,
  generation: i32,
  bits: i32,
  slotTicks: f64,
  originTicks: f64,
  first: f64,
  low: i32,
  high: i32,
  nowUs: f64,
  tokens: i32,
): i32 {
  const word = joined(low, high);
  if (!isInForce(cell, word, generation)) return CHANGED;
  const number = numberOf(word, bits) as f64;
  if (isPast(ticksAt(nowUs, originTicks), slotTicks, first, number, bits)) return 0;
  if ((word & sealOf(bits)) != 0) return 0;
  const returned = min(tokens, countOf(word, bits));
  const next = word - ((returned as i64) << INDEX_BITS);
  return exchange64(cell + CELL_word, word, next) == word ? returned : AGAIN;
}

/** One attempt to put a new limit in force, on a head that was loaded before the clock was read. */
export function slidingReconfigureAt(
  cell: usize,
  generation: i32,
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
  newLimit: i32,
  newIntervalMs: f64,
  newSlotTicks: f64,
): i32 {
  const word = joined(low, high);
  if (!isInForce(cell, word, generation)) return CHANGED;
  const number = numberOf(word, bits) as f64;
  const ticks = ticksAt(nowUs, originTicks);
  if (isPast(ticks, slotTicks, first, number, bits) || (word & sealOf(bits)) != 0) {
    openNext(cell, bits, slots, shift, word, numberAt(ticks, slotTicks, first, bits));
    return AGAIN;
  }
  const moves = newSlotTicks != slotTicks;
  if (moves && number - shift != keptFor) return NEW_SLOT;
  const newNumber = (number as i64) + (moves ? (slots as i64) : 1);
  if (newNumber >= lastNumber(bits)) return DAMAGED;
  const index = claimWindowRecord(cell);
  if (index == NONE) return BUSY;
  const newGeneration = nextWindowGeneration(cell);
  const newShift = moves ? shift : shift + 1;
  // If the clock has stepped back, the new slot begins when the old one did.
  const begin = max(ticks, (number - first) * slotTicks);
  const origin = moves ? originTicks + begin : originTicks;
  const firstSlot = moves ? (newNumber as f64) - newShift : first - shift;
  writeWindowRecord(
    cell,
    index,
    newGeneration,
    bits,
    newLimit,
    newIntervalMs,
    origin,
    firstSlot,
    newShift,
  );
  const count = (countOf(word, bits) as i64) + (moves ? (kept as i64) : 0);
  const next = wordAt(newNumber, bits, index) | (count << INDEX_BITS);
  return publishWindowRecord(cell, word, next, index);
}
