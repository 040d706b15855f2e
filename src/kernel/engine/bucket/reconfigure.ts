import { exchange64, load64, store32 } from '../accesses';
import { round, scale, ticksDown, ticksUp } from '../arithmetic';
import {
  addTokens,
  burst,
  capTicks,
  countedTick,
  fillAt,
  fillTicks,
  findIndex,
  index,
  indexFraction,
  moveToOrigin,
  nearestTick,
  originUs,
  pace,
  speedOf,
  startIndex,
  ticksPerMicro,
  ticksPerToken,
} from './limit';
import { epochOf, isStill, limitOf, readRecord, recordAt } from './record';
import {
  claimRecord,
  claimUnseen,
  isClaimed,
  nextEpoch,
  NONE,
  publishRecord,
  put32,
  putF64,
  putI64,
  release,
} from '../claim';
import {
  AGAIN,
  BUCKET_claims,
  BUCKET_limits,
  BUCKET_sequence,
  BUSY,
  CELL_word,
  CLAIM_ATTEMPTS,
  DAMAGED,
  INDEX_BITS,
  INDEX_MASK,
  MAX_ORIGIN_TICKS,
  MAX_SPAN_TICKS,
  ORIGIN_PLACES,
  ORIGIN_STEP_US,
  RECORD_arrived,
  RECORD_arrivedFraction,
  RECORD_burst,
  RECORD_COUNT,
  RECORD_fillTicks,
  RECORD_epoch,
  RECORD_originUs,
  RECORD_pace,
  RECORD_liveEpoch,
  RECORD_ticksPerToken,
  RETURN_ATTEMPTS,
  SAME_INTERVAL,
  SUPERSEDED,
} from '../constants';

// The configuration record that goes live next.

export let newPace: f64 = 0;
export let newBurst: f64 = 0;
export let newTicksPerToken: f64 = 0;
export let newTicksPerMicro: f64 = 0;
export let newCapTicks: i64 = 0;
export let newFillTicks: f64 = 0;
export let newOriginUs: f64 = 0;

/** Sets the limit of the new record. */
export function newLimit(pace: f64, most: f64, perToken: f64, fill: f64): void {
  newPace = pace;
  newBurst = most;
  newTicksPerToken = perToken;
  newTicksPerMicro = speedOf(pace, perToken, fill);
  newCapTicks = ticksUp(most, perToken);
  newFillTicks = fill;
}

/** The tokens in `held` ticks of the limit read, in ticks of the new one, and up to its burst. */
export function keptTicks(held: i64): i64 {
  // An unlimited bucket is always full.
  if (ticksPerToken == 0) return newCapTicks;
  const most = 2 * MAX_SPAN_TICKS;
  const kept = scale(min(capTicks, held), newTicksPerToken as i64, ticksPerToken as i64, most);
  return min(newCapTicks, kept);
}

/** The tick up to which a bucket's tokens have arrived at an instant, under the new record. */
export function newTick(nowUs: f64): i64 {
  const tick = round((nowUs - newOriginUs) * newTicksPerMicro);
  return (newFillTicks == 0 ? tick : floor(tick / newFillTicks) * newFillTicks) as i64;
}

/** The instant of a fill under the new record. If the interval is the same, the grid continues. */
export function gridOf(nowUs: f64): f64 {
  if (newFillTicks == 0 || fillTicks == 0) return nowUs;
  const before = fillTicks / ticksPerMicro;
  const after = newFillTicks / newTicksPerMicro;
  if (abs(after - before) > before * SAME_INTERVAL) return nowUs;
  return originUs + fillAt(nearestTick(nowUs)) / ticksPerMicro;
}

/**
 * How far a record's origin is before the instant at which it went live. Successive epochs
 * differ, so that a word rarely recurs under another record of the same index.
 */
export function originOffsetUs(fill: f64, perMicro: f64, epoch: i32): f64 {
  if (fill == 0) return (epoch % ORIGIN_PLACES) * ORIGIN_STEP_US;
  const places = min(ORIGIN_PLACES as f64, max(1, floor((MAX_ORIGIN_TICKS as f64) / fill)));
  return ((epoch % (places as i32)) as f64) * (fill / perMicro);
}

/** Keeps the origin of the limit read. */
export function keepOrigin(): void {
  newOriginUs = originUs;
}

/** Places the origin shortly before `gridUs`: now, or a fill of the previous limit. */
export function placeOrigin(gridUs: f64, epoch: i32): void {
  newOriginUs = gridUs - originOffsetUs(newFillTicks, newTicksPerMicro, epoch);
}

/** Computes the token index at the origin of the new record, for a change at an instant. */
export function carryIndex(nowUs: f64, returned: i64): void {
  findIndex(countedTick(nowUs) + returned);
  // All tokens that an unlimited bucket owes arrive at once.
  if (newTicksPerToken == 0 && ticksPerToken != 0)
    addTokens(MAX_SPAN_TICKS / (ticksPerToken as i64));
  moveToOrigin(newTick(nowUs), newTicksPerToken);
}

/** Writes the new limit and the token index at its origin. */
export function writeLimit(at: usize): void {
  putF64(at + RECORD_pace, newPace);
  putF64(at + RECORD_burst, newBurst);
  putF64(at + RECORD_ticksPerToken, newTicksPerToken);
  putF64(at + RECORD_fillTicks, newFillTicks);
  putF64(at + RECORD_originUs, newOriginUs);
  putI64(at + RECORD_arrived, index);
  putI64(at + RECORD_arrivedFraction, indexFraction);
}

/**
 * Fills a claimed record, after the token index at its origin was computed. `limit` is the
 * epoch with which its limit came into force. The epoch is written last: 0 means "being
 * written".
 */
export function writeRecord(cell: usize, place: i32, epoch: i32, limit: i32): void {
  const at = recordAt(cell, place);
  put32(at + RECORD_epoch, 0);
  writeLimit(at);
  put32(cell + BUCKET_limits + (place << 2), limit);
  put32(at + RECORD_liveEpoch, epoch);
  put32(at + RECORD_epoch, epoch);
}

// Changes the limit in force: one exchange of the word makes a new configuration record live.

export const DONE: f64 = 0;

/** Whether the live record was invalid when it was last read. */
let senseless: bool = false;

/** Reads the live record and returns the word that names it. */
function readLive(cell: usize): i64 {
  while (true) {
    const word = load64(cell + CELL_word);
    const sound = readRecord(cell, word) && epochOf(cell, word) != 0 && isFinite(originUs);
    if (isStill(cell, word)) {
      senseless = !sound;
      return word;
    }
  }
}

/** Announces that another record may go live from now on: see watchBucket in the host's cell.ts. */
export function endEpoch(cell: usize, word: i64): void {
  store32(recordAt(cell, (word & INDEX_MASK) as usize) + RECORD_liveEpoch, 0);
}

/** The bucket's contents in ticks of the record read. May exceed the burst after idling. */
function heldTicks(word: i64, nowUs: f64): i64 {
  return countedTick(nowUs) - (word >> INDEX_BITS);
}

/** The contents after tokens are returned. */
function sameTicks(word: i64, nowUs: f64, returned: i64): i64 {
  const held = heldTicks(word, nowUs) + returned;
  return returned == 0 ? held : min(capTicks, held);
}

/** Clamps in both directions: a longer debt is forgiven, and longer idling adds nothing. */
export function withinSpan(ticks: i64): i64 {
  return max(-MAX_SPAN_TICKS, min(MAX_SPAN_TICKS, ticks));
}

/** Instead of an epoch: any live record. */
const ANY = 0;

/** The word that {@link look} loaded before the host read its clock, and its record's epoch. */
let seen: i64 = 0;
let seenEpoch: i32 = 0;
/** Whether the word must be the one seen, rather than one of the same record. */
let isBound: bool = false;

/**
 * Loads the word for {@link reconfigure}. The clock is read after it, so that no call that the word
 * counts was later: a higher rate would refill a bucket from before that call emptied it.
 */
export function look(cell: usize): void {
  seen = load64(cell + CELL_word);
  seenEpoch = epochOf(cell, seen);
}

function isAsSeen(word: i64, epoch: i32): bool {
  return epoch == seenEpoch && (!isBound || word == seen);
}

/** Why a change of this word must not be published, or DONE. */
function refusalOf(word: i64, live: i32, onlyOf: i32): f64 {
  if (senseless) return DAMAGED;
  if (onlyOf == ANY) return isAsSeen(word, live) ? DONE : AGAIN;
  return live == onlyOf ? DONE : SUPERSEDED;
}

/** Now, in ticks of the new record. */
let nowTicks: i64 = 0;

/**
 * Writes the new record as the successor of the live one: tokens that have arrived keep their
 * indices, and `returned` ticks arrive at once. False if the clock is invalid.
 */
function prepare(cell: usize, place: i32, word: i64, nowUs: f64, onlyOf: i32, returned: i64): bool {
  const epoch = nextEpoch(cell + BUCKET_sequence);
  placeOrigin(gridOf(nowUs), epoch);
  if (!isFinite(newOriginUs)) return false;
  nowTicks = newTick(nowUs);
  carryIndex(nowUs, returned);
  writeRecord(cell, place, epoch, onlyOf == ANY ? epoch : limitOf(cell, word));
  return true;
}

/**
 * Makes a new record live with one exchange, which also carries over the tokens, and frees the old
 * record. ANY converts the tokens, if the word is as seen. An epoch keeps their ticks and adds the returned ones, and
 * the record goes live only if that epoch is still live.
 */
function publish(cell: usize, nowUs: f64, attempts: i32, onlyOf: i32, returned: i64): f64 {
  let place = claimRecord(cell, cell + BUCKET_claims, attempts);
  let before = 0;
  while (place != NONE) {
    const word = readLive(cell);
    const live = epochOf(cell, word);
    let failure = refusalOf(word, live, onlyOf);
    if (failure == DONE && live != before) {
      before = live;
      if (!prepare(cell, place, word, nowUs, onlyOf, returned)) failure = DAMAGED;
    }
    if (failure != DONE) {
      release(place);
      return failure;
    }
    // End it before the exchange: if this thread is terminated in between, no observer misses a
    // change.
    endEpoch(cell, word);
    const held =
      onlyOf == ANY ? keptTicks(heldTicks(word, nowUs)) : sameTicks(word, nowUs, returned);
    const next = ((nowTicks - withinSpan(held)) << INDEX_BITS) | (place as i64);
    if (publishRecord(cell, word, next)) {
      release(place);
      return DONE;
    }
    if (!isClaimed()) {
      place = claimRecord(cell, cell + BUCKET_claims, attempts);
      before = 0;
    }
  }
  return BUSY;
}

/** Writes a bucket into cleared memory before any other thread can see it. */
export function createBucket(
  cell: usize,
  nowUs: f64,
  rateOrInterval: f64,
  most: f64,
  perToken: f64,
  fill: f64,
  initial: f64,
): f64 {
  newLimit(rateOrInterval, most, perToken, fill);
  const epoch = nextEpoch(cell + BUCKET_sequence);
  placeOrigin(nowUs, epoch);
  if (!isFinite(newOriginUs)) return DAMAGED;
  startIndex();
  claimUnseen(cell + BUCKET_claims);
  writeRecord(cell, 0, epoch, epoch);
  const zeroTime = newTick(nowUs) - ticksUp(initial, perToken);
  exchange64(cell + CELL_word, 0, zeroTime << INDEX_BITS);
  return DONE;
}

/**
 * Puts a new limit in force. Every call on any thread sees either the old or the new limit. AGAIN if
 * the limit has changed since it was seen, or, if `bound`, any of the word.
 */
export function reconfigure(
  cell: usize,
  nowUs: f64,
  rateOrInterval: f64,
  most: f64,
  perToken: f64,
  fill: f64,
  bound: bool,
): f64 {
  isBound = bound;
  newLimit(rateOrInterval, most, perToken, fill);
  return publish(cell, nowUs, CLAIM_ATTEMPTS, ANY, 0);
}

/** The word has another record by now, or its record is invalid. */
const GONE = 0;
const INVALID = -1;

/** Prepares a record with the limit of a word's record. Returns its epoch, GONE or INVALID. */
function sameLimit(cell: usize, word: i64): i32 {
  const epoch = epochOf(cell, word);
  const isSound = epoch != 0 && readRecord(cell, word);
  // If the word has changed, the fields may be from two records. Look once: it may change back.
  if (!isStill(cell, word)) return GONE;
  if (!isSound) return INVALID;
  newLimit(pace, burst, ticksPerToken, fillTicks);
  return epoch;
}

/**
 * Moves the origin of a word's record to now, if it is still live. If no record is free, a later
 * call tries again. Held ticks are not capped, so threads with older clock readings see no change.
 */
export function renew(cell: usize, word: i64, nowUs: f64): void {
  const epoch = sameLimit(cell, word);
  if (epoch > 0) publish(cell, nowUs, RECORD_COUNT, epoch, 0);
}

/**
 * Returns tokens to a bucket in debt, so that every promised token is due earlier. SUPERSEDED if
 * the word's record is no longer live, BUSY if no record is free.
 */
export function bringForward(cell: usize, word: i64, nowUs: f64, tokens: f64): f64 {
  const epoch = sameLimit(cell, word);
  if (epoch <= 0) return epoch == GONE ? SUPERSEDED : DAMAGED;
  return publish(cell, nowUs, RETURN_ATTEMPTS, epoch, ticksDown(tokens, ticksPerToken));
}
