import { load32, load64, readF64, readI32 } from '../accesses';
import { highOf, joined, round } from '../arithmetic';
import { claimRecord, nextEpoch, NONE, publishRecord, put32, putF64, release } from '../claim';
import {
  CELL_word,
  CLAIM_ATTEMPTS,
  INDEX_BITS,
  INDEX_MASK,
  LAST_TICK,
  RECORD_BYTES,
  RECORDS_AT,
  START_PLACES,
  WINDOW_claims,
  WINDOW_MOVED,
  WINDOW_OUTCOME_again,
  WINDOW_OUTCOME_busy,
  WINDOW_OUTCOME_damaged,
  WINDOW_RECORD_bits,
  WINDOW_RECORD_firstSlot,
  WINDOW_RECORD_epoch,
  WINDOW_RECORD_intervalMs,
  WINDOW_RECORD_intervalUnits,
  WINDOW_RECORD_limit,
  WINDOW_RECORD_originTicks,
  WINDOW_RECORD_shift,
  WINDOW_RECORD_unitTicks,
  WINDOW_sequence,
  WINDOW_TICKS_PER_MICRO,
} from '../constants';
import { leaveWord, failExchange, word as known } from '../results';

// Time in windows and logs, and the results of a call beside the number of its tokens.

const TICKS_PER_MICRO: f64 = WINDOW_TICKS_PER_MICRO as f64;
const LAST: f64 = LAST_TICK as f64;
/** Products of doubles may be too large by this: 1.1 ms are 17,600 ticks, not 17,601. */
const PRODUCT_ERROR: f64 = 1e-6;

/**
 * The tick nearest to a clock instant. No other step rounds, so an interval ends exactly when it is
 * due.
 */
export function ticksAt(nowUs: f64, originTicks: f64): f64 {
  const ticks = round(nowUs * TICKS_PER_MICRO) - originTicks;
  // NaN counts as a clock that has stepped back as far as possible.
  return ticks > -LAST ? min(ticks, LAST) : -LAST;
}

/** Microseconds from `nowUs` until a tick. After the last tick, time stands still. */
export function until(tick: f64, nowUs: f64, originTicks: f64): f64 {
  const lastUs = (originTicks + LAST) / TICKS_PER_MICRO;
  return (originTicks + tick) / TICKS_PER_MICRO - min(nowUs, lastUs);
}

/** An interval in ticks, rounded up so that a window is never shorter than requested. */
export function intervalTicksOf(intervalMs: f64): f64 {
  return ceil(intervalMs * 1000 * TICKS_PER_MICRO - PRODUCT_ERROR);
}

/** After a refusal, or with `withState`: microseconds until the requested tokens can be available. */
let wait: f64 = 0;
/** With `withState`: tokens left, microseconds until no admission counts, and until one less does. */
let left: i32 = 0;
let full: f64 = 0;
let next: f64 = 0;

export function windowWaitUs(): f64 {
  return wait;
}

export function windowLeft(): i32 {
  return left;
}

export function windowFullUs(): f64 {
  return full;
}

export function windowNextUs(): f64 {
  return next;
}

export function leaveWait(us: f64): void {
  wait = us;
}

/** Without admissions that count, `nextUs` has no meaning: no more tokens will come. */
export function leaveState(count: i32, limit: i32, fullUs: f64, nextUs: f64): void {
  left = count;
  full = fullUs;
  next = count < limit ? nextUs : Infinity;
}

// The configuration records of windows and logs. The low bits of the word name the live record, so
// one exchange puts a new limit in force. A record is written only while no word names it.
//
// A call reads the record that its word names. If the call then finds the word unchanged, the record
// was live all the time: no word recurs under another record of its place (see where each limiter's
// words are written).
//
// A thread keeps the word that it last read or wrote from call to call. The next call exchanges that
// word without loading it first. It was read before the clock, because the host reads the clock
// before each call. A word that is loaded during the call is newer than the reading. Each limiter
// says when that matters; then the call returns AGAIN, and the host looks at the word before it
// reads the clock.

export const AGAIN: i32 = WINDOW_OUTCOME_again as i32;
const BUSY: i32 = WINDOW_OUTCOME_busy as i32;
/** The word is damaged, unless it has changed meanwhile: then decide on the new one. */
export const UNDECIDED: i32 = WINDOW_OUTCOME_damaged as i32;
const MOVED: i32 = WINDOW_MOVED as i32;
/** 2^32, and its inverse. */
const MICROS: f64 = 4294967296;
const PER_MICROS: f64 = 1 / MICROS;

/** The cell whose word is known: as this thread last read or wrote it. 0 for none. */
let knownCell: usize = 0;
/** The microsecond of that call, modulo 2^32. Integers, because JavaScript allocates doubles. */
let knownMicro: i32 = 0;

/** The record that was read last. Its integers are cached, because a call needs them at once. */
export let knownRecord: usize = 0;
let knownEpoch: i32 = 0;
export let knownBits: i32 = 0;
export let knownLimit: i32 = 0;

/** The word after the call that was decided on. */
export let nextWord: i64 = 0;

export function leaveNext(word: i64): void {
  nextWord = word;
}

/** The limiter object that took tokens last, and the window or slot that counts them. */
let taker: i32 = 0;
let place: i64 = 0;

/** The limit under which the last call was refused or left its state. */
let metLimit: i32 = 0;

export function windowLimit(): i32 {
  return metLimit;
}

export function leaveLimit(limit: i32): void {
  metLimit = limit;
}

export function recordOf(cell: usize, word: i64): usize {
  return cell + RECORDS_AT + ((word & INDEX_MASK) as usize) * RECORD_BYTES;
}

/** Whether a record is the one that was read last, unchanged. */
export function isLatest(record: usize): bool {
  return record == knownRecord && readI32(record + WINDOW_RECORD_epoch) == knownEpoch;
}

/** Reads a record's integers. False if it was never written or is being written: no word names it. */
export function learn(record: usize): bool {
  const epoch = readI32(record + WINDOW_RECORD_epoch);
  if (epoch == 0) return false;
  knownRecord = record;
  knownEpoch = epoch;
  knownBits = bitsIn(record);
  knownLimit = limitIn(record);
  return isLatest(record);
}

/** The bits of the word that hold a count. */
export function bitsIn(record: usize): i32 {
  return readI32(record + WINDOW_RECORD_bits);
}

export function limitIn(record: usize): i32 {
  return readF64(record + WINDOW_RECORD_limit) as i32;
}

/** The count of a fixed or sliding window's word, or of a kept slot. */
export function countOf(word: i64, bits: i32): i32 {
  return ((word >> INDEX_BITS) & ((1 << bits) - 1)) as i32;
}

/** A number of tokens, shifted to the place of the count in a word. */
export function inWord(tokens: i32): i64 {
  return (tokens as i64) << INDEX_BITS;
}

/** The clock tick from which the limiter counts. */
export function originIn(record: usize): f64 {
  return readF64(record + WINDOW_RECORD_originTicks);
}

/** The length of a fixed window's unit of time, of a slot, or of a tick. */
export function unitIn(record: usize): f64 {
  return readF64(record + WINDOW_RECORD_unitTicks);
}

/** The interval in these units. */
export function intervalIn(record: usize): f64 {
  return readF64(record + WINDOW_RECORD_intervalUnits);
}

/** The number of the sliding window's slot that begins at the origin. */
export function firstSlotIn(record: usize): f64 {
  return readF64(record + WINDOW_RECORD_firstSlot);
}

/** The amount that the head of a sliding window adds to the numbers of slots. */
export function shiftIn(record: usize): f64 {
  return readF64(record + WINDOW_RECORD_shift);
}

export function bitsOf(count: i32): i32 {
  return 32 - clz(count);
}

export function forget(): void {
  knownCell = 0;
  knownRecord = 0;
}

/** Whether this thread knows the word of a cell. */
export function isKnown(cell: usize): bool {
  return cell == knownCell;
}

/** The word of a cell that this thread knows, or that it loads now. */
export function wordOf(cell: usize): i64 {
  return cell == knownCell ? known : load64(cell + CELL_word);
}

function microOf(nowUs: f64): i32 {
  return (nowUs - floor(nowUs * PER_MICROS) * MICROS) as u32 as i32;
}

/** Keeps the word for the next call of this thread. It also is the receipt of an admission. */
export function remember(cell: usize, word: i64, nowUs: f64): void {
  knownCell = cell;
  knownMicro = microOf(nowUs);
  leaveWord(word);
}

/** Counts a failed exchange, unless the word is one that this thread has kept for over a microsecond. */
export function loseGuess(guessed: bool, nowUs: f64): void {
  if (!guessed || microOf(nowUs) - knownMicro <= 1) failExchange();
}

/**
 * The result of a call by a limiter object: `taken`, and a bit that is set if its previous
 * admission was in another window or slot, or another object has taken tokens since.
 */
export function takenBy(object: i32, taken: i32, word: i64, bits: i32): i32 {
  if (taken == 0) return 0;
  const at = placeOf(word, bits);
  if (object == taker && at == place) return taken;
  taker = object;
  place = at;
  return taken | MOVED;
}

/** The high half of the word that was loaded before the clock is read. */
let seenHigh: i32 = 0;

export function windowLook(cell: usize): i32 {
  const word = load64(cell + CELL_word);
  seenHigh = highOf(word);
  return word as i32;
}

export function windowSeenHigh(): i32 {
  return seenHigh;
}

/** Continues with a word that the host loaded before it read the clock. */
export function windowRecall(cell: usize, low: i32, high: i32, nowUs: f64): void {
  remember(cell, joined(low, high), nowUs);
}

/** The bits of a word that identify its window or slot, and its record. */
export function placeOf(word: i64, bits: i32): i64 {
  return word & ~((((2 << bits) - 1) as i64) << INDEX_BITS);
}

/** The window or slot of the last admission, in halves. */
export function windowPlaceLow(): i32 {
  return place as i32;
}

export function windowPlaceHigh(): i32 {
  return highOf(place);
}

/** The epoch of the record that a word names. */
export function epochOf(cell: usize, word: i64): i32 {
  return load32(recordOf(cell, word) + WINDOW_RECORD_epoch);
}

/**
 * Attempts once to put a new record in force by exchanging the word for `next`, in which the record's
 * number is missing. Returns 0, AGAIN or BUSY. If it `spreads`, the epoch chooses the number of its
 * first window, so that no word recurs.
 */
export function replaceRecord(
  cell: usize,
  word: i64,
  next: i64,
  spreads: bool,
  countBits: i32,
  newLimit: i32,
  intervalMs: f64,
  origin: f64,
  firstSlot: f64,
  newShift: f64,
  unitTicks: f64,
): i32 {
  const index = claimRecord(cell, cell + WINDOW_claims, CLAIM_ATTEMPTS);
  if (index == NONE) return BUSY;
  const epoch = nextEpoch(cell + WINDOW_sequence);
  const first = spreads ? epoch % START_PLACES : 0;
  const at = recordOf(cell, index);
  // The epoch is written last: 0 means "being written".
  put32(at + WINDOW_RECORD_epoch, 0);
  put32(at + WINDOW_RECORD_bits, countBits);
  putF64(at + WINDOW_RECORD_limit, newLimit);
  putF64(at + WINDOW_RECORD_intervalMs, intervalMs);
  putF64(at + WINDOW_RECORD_originTicks, origin - (first as f64) * unitTicks);
  putF64(at + WINDOW_RECORD_firstSlot, firstSlot);
  putF64(at + WINDOW_RECORD_shift, newShift);
  putF64(at + WINDOW_RECORD_unitTicks, unitTicks);
  putF64(at + WINDOW_RECORD_intervalUnits, ceil(intervalTicksOf(intervalMs) / unitTicks));
  put32(at + WINDOW_RECORD_epoch, epoch);
  const start = (first as i64) << (countBits + 1 + INDEX_BITS);
  const isLive = publishRecord(cell, word, next | start | (index as i64));
  release(index);
  if (isLive) return 0;
  failExchange();
  return AGAIN;
}
