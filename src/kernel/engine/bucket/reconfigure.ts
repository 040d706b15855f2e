import { exchange64, load64, store32 } from '../accesses';
import { ticksDown, ticksUp } from '../arithmetic';
import { claimRecord, claimUnseen, isClaimed, NONE, release } from '../claim';
import {
  AGAIN,
  BUCKET_claims,
  BUSY,
  CELL_word,
  CLAIM_ATTEMPTS,
  DAMAGED,
  INDEX_BITS,
  INDEX_MASK,
  MAX_SPAN_TICKS,
  RECORD_COUNT,
  RECORD_tenure,
  RETURN_ATTEMPTS,
  SUPERSEDED,
} from '../constants';
import { burst, capTicks, countedTick, fillTicks, originUs, pace, ticksPerToken } from './limit';
import {
  carryIndex,
  gridOf,
  keptTicks,
  newLimit,
  newOriginUs,
  newTick,
  nextGeneration,
  placeOrigin,
  writeRecord,
} from './new-record';
import { generationOf, isStill, limitOf, readRecord, recordAt } from './record';
import { startIndex } from './token-index';

// Changes the limit in force: one exchange of the word makes a new configuration record live.

export const DONE: f64 = 0;

/** Whether the live record was invalid when it was last read. */
let senseless: bool = false;

/** Reads the live record and returns the word that names it. */
function readLive(cell: usize): i64 {
  while (true) {
    const word = load64(cell + CELL_word);
    const sound = readRecord(cell, word) && generationOf(cell, word) != 0 && isFinite(originUs);
    if (isStill(cell, word)) {
      senseless = !sound;
      return word;
    }
  }
}

/** Announces that another record may go live from now on: see Tenure in the host's record.ts. */
export function endTenure(cell: usize, word: i64): void {
  store32(recordAt(cell, (word & INDEX_MASK) as usize) + RECORD_tenure, 0);
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

/** Instead of a generation: any live record. */
const ANY = 0;

/** The word that {@link look} loaded before the host read its clock, and its record's generation. */
let seen: i64 = 0;
let seenGeneration: i32 = 0;
/** Whether the word must be the one seen, rather than one of the same record. */
let isBound: bool = false;

/**
 * Loads the word for {@link reconfigure}. The clock is read after it, so that no call that the word
 * counts was later: a higher rate would refill a bucket from before that call emptied it.
 */
export function look(cell: usize): void {
  seen = load64(cell + CELL_word);
  seenGeneration = generationOf(cell, seen);
}

function isAsSeen(word: i64, generation: i32): bool {
  return generation == seenGeneration && (!isBound || word == seen);
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
  const generation = nextGeneration(cell);
  placeOrigin(gridOf(nowUs), generation);
  if (!isFinite(newOriginUs)) return false;
  nowTicks = newTick(nowUs);
  carryIndex(nowUs, returned);
  writeRecord(cell, place, generation, onlyOf == ANY ? generation : limitOf(cell, word));
  return true;
}

/**
 * Makes a new record live with one exchange, which also carries over the tokens, and frees the old
 * record. ANY converts the tokens, if the word is as seen. A generation keeps their ticks and adds the returned ones, and
 * the record goes live only if that generation is still live.
 */
function publish(cell: usize, nowUs: f64, attempts: i32, onlyOf: i32, returned: i64): f64 {
  let place = claimRecord(cell, cell + BUCKET_claims, attempts);
  let before = 0;
  while (place != NONE) {
    const word = readLive(cell);
    const live = generationOf(cell, word);
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
    endTenure(cell, word);
    const held =
      onlyOf == ANY ? keptTicks(heldTicks(word, nowUs)) : sameTicks(word, nowUs, returned);
    const next = ((nowTicks - withinSpan(held)) << INDEX_BITS) | (place as i64);
    if (!isClaimed()) {
      place = claimRecord(cell, cell + BUCKET_claims, attempts);
      before = 0;
    } else if (exchange64(cell + CELL_word, word, next) == word) {
      release(place);
      return DONE;
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
  const generation = nextGeneration(cell);
  placeOrigin(nowUs, generation);
  if (!isFinite(newOriginUs)) return DAMAGED;
  startIndex();
  claimUnseen(cell + BUCKET_claims);
  writeRecord(cell, 0, generation, generation);
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

/** Prepares a record with the limit of a word's record. Returns its generation, GONE or INVALID. */
function sameLimit(cell: usize, word: i64): i32 {
  const generation = generationOf(cell, word);
  const isSound = generation != 0 && readRecord(cell, word);
  // If the word has changed, the fields may be from two records. Look once: it may change back.
  if (!isStill(cell, word)) return GONE;
  if (!isSound) return INVALID;
  newLimit(pace, burst, ticksPerToken, fillTicks);
  return generation;
}

/**
 * Moves the origin of a word's record to now, if it is still live. If no record is free, a later
 * call tries again. Held ticks are not capped, so threads with older clock readings see no change.
 */
export function renew(cell: usize, word: i64, nowUs: f64): void {
  const generation = sameLimit(cell, word);
  if (generation > 0) publish(cell, nowUs, RECORD_COUNT, generation, 0);
}

/**
 * Returns tokens to a bucket in debt, so that every promised token is due earlier. SUPERSEDED if
 * the word's record is no longer live, BUSY if no record is free.
 */
export function bringForward(cell: usize, word: i64, nowUs: f64, tokens: f64): f64 {
  const generation = sameLimit(cell, word);
  if (generation <= 0) return generation == GONE ? SUPERSEDED : DAMAGED;
  return publish(cell, nowUs, RETURN_ATTEMPTS, generation, ticksDown(tokens, ticksPerToken));
}
