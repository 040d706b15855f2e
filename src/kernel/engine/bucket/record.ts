import { exchange64, load32, load64, readI32, store32 } from '../accesses';
import { ticksDown, ticksUp } from '../arithmetic';
import {
  burst,
  capTicks,
  carryIndex,
  countedTick,
  fetchLimit,
  fillTicks,
  gridOf,
  index,
  keptTicks,
  newLimit,
  newOriginUs,
  newTick,
  originUs,
  pace,
  placeOrigin,
  readLimit,
  startIndex,
  ticksPerToken,
  writeLimit,
} from './limit';
import {
  claimRecord,
  claimUnseen,
  isClaimed,
  nextEpoch,
  NONE,
  publishRecord,
  put32,
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
  MAX_SPAN_TICKS,
  RECORD_BYTES,
  RECORD_COUNT,
  RECORD_epoch,
  RECORD_liveEpoch,
  RECORDS_AT,
  RETURN_ATTEMPTS,
  SUPERSEDED,
} from '../constants';

// Reads the configuration record that a bucket's word names, and caches one between calls.

/** The cell whose record is cached; 0 if another record has been read since. */
let knownCell: usize = 0;
let knownIndex: i64 = 0;
export let knownEpoch: i32 = 0;
/** The epoch with which its limit came into force. */
export let knownLimit: i32 = 0;
/** The cell's word as this thread last read or wrote it, and the clock reading of that call. */
export let knownWord: i64 = 0;
export let knownUs: f64 = 0;

export function recordAt(cell: usize, index: usize): usize {
  return cell + RECORDS_AT + index * RECORD_BYTES;
}

function recordOf(cell: usize, word: i64): usize {
  return recordAt(cell, (word & INDEX_MASK) as usize);
}

/**
 * Reads the limit of the record that a word names; false if invalid. No thread writes a record that
 * the word names, so the result is consistent if the word {@link isStill} the same.
 */
export function readRecord(cell: usize, word: i64): bool {
  forget();
  return readLimit(recordOf(cell, word));
}

/**
 * Caches the live record, read after its epoch, for this and later calls; false if invalid. It
 * may mix two records until a word {@link isKnown}.
 */
export function learn(cell: usize, nowUs: f64): bool {
  while (true) {
    const word = load64(cell + CELL_word);
    const epoch = epochOf(cell, word);
    forget();
    if (epoch != 0 && fetchLimit(recordOf(cell, word))) {
      knownCell = cell;
      knownIndex = word & INDEX_MASK;
      remember(word, nowUs);
      knownEpoch = epoch;
      knownLimit = limitOf(cell, word);
      return true;
    }
    if (isStill(cell, word)) return false;
  }
}

export function forget(): void {
  knownCell = 0;
}

export function remember(word: i64, nowUs: f64): void {
  knownWord = word;
  knownUs = nowUs;
}

export function isLearnt(cell: usize): bool {
  return cell == knownCell;
}

/**
 * Whether a word names the cached record. The epoch is read after the word, and a record is
 * written before the word that publishes it, so a new epoch means that the word has changed.
 */
export function isKnown(cell: usize, word: i64): bool {
  return (
    (word & INDEX_MASK) == knownIndex && readI32(recordOf(cell, word) + RECORD_epoch) == knownEpoch
  );
}

export function epochOf(cell: usize, word: i64): i32 {
  return load32(recordOf(cell, word) + RECORD_epoch);
}

/** The epoch with which the limit that a word names came into force. */
export function limitOf(cell: usize, word: i64): i32 {
  return load32(cell + BUCKET_limits + (((word & INDEX_MASK) as usize) << 2));
}

/** Whether a cell's word is unchanged since it was loaded. */
export function isStill(cell: usize, word: i64): bool {
  return load64(cell + CELL_word) == word;
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
 * record. ANY converts the tokens, if the word is as seen. An epoch keeps their ticks and adds the
 * returned ones, and the record goes live only if that epoch is still live.
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
 * Moves the origin of a word's record to now, if it is still live. BUSY if no record is free: a later
 * call tries again. Held ticks are not capped, so threads with older clock readings see no change.
 */
export function renew(cell: usize, word: i64, nowUs: f64): f64 {
  const epoch = sameLimit(cell, word);
  return epoch > 0 ? publish(cell, nowUs, RECORD_COUNT, epoch, 0) : DAMAGED;
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
