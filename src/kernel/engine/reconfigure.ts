import { exchange64, load64, store32 } from './accesses';
import { scale, ticksUp } from './arithmetic';
import {
  BUCKET_before,
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
} from './constants';
import {
  burst,
  capTicks,
  countedTick,
  fillTicks,
  originUs,
  ticksPerMicro,
  ticksPerToken,
} from './limit';
import {
  claimRecord,
  gridOf,
  newCapTicks,
  newLimit,
  newOriginUs,
  newTick,
  newTicksPerToken,
  nextGeneration,
  NONE,
  placeOrigin,
  releaseRecord,
  writeRecord,
} from './new-record';
import { generationOf, isStill, rateOf, readRecord, recordAt } from './record';

// Changes the limit in force: one exchange of the word makes a new configuration record live.

const DONE: f64 = 0;

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

/** Announces that another record may go live from now on: see Tenure in bucket/record.ts. */
function endTenure(cell: usize, word: i64): void {
  store32(recordAt(cell, (word & INDEX_MASK) as usize) + RECORD_tenure, 0);
}

/** The bucket's contents in ticks of the record read; may exceed the capacity after idling. */
function heldTicks(word: i64, nowUs: f64): i64 {
  return countedTick(nowUs) - (word >> INDEX_BITS);
}

/** The tokens of the old bucket, in ticks of the new record. */
function keptTicks(word: i64, nowUs: f64): i64 {
  // An unlimited bucket is always full.
  if (ticksPerToken == 0) return newCapTicks;
  const held = min(capTicks, heldTicks(word, nowUs));
  const most = 2 * MAX_SPAN_TICKS;
  const kept = scale(held, newTicksPerToken as i64, ticksPerToken as i64, most);
  return min(newCapTicks, kept);
}

/** Clamps in both directions: a longer debt is forgiven, and longer idling adds nothing. */
function withinSpan(ticks: i64): i64 {
  return max(-MAX_SPAN_TICKS, min(MAX_SPAN_TICKS, ticks));
}

/** In place of a generation: any live record. */
const ANY = 0;

/**
 * Makes a new record live with one exchange, which also carries the tokens over; frees the old one.
 * ANY converts the tokens. A generation keeps their ticks, and publishes only if it is still live.
 */
function publish(cell: usize, nowUs: f64, attempts: i32, onlyOf: i32): f64 {
  const index = claimRecord(cell, attempts);
  if (index == NONE) return BUSY;
  let word = readLive(cell);
  if (senseless) {
    releaseRecord(cell, index);
    return DAMAGED;
  }
  const generation = nextGeneration(cell);
  placeOrigin(gridOf(nowUs), generation);
  writeRecord(cell, index, generation);
  if (!isFinite(newOriginUs)) {
    releaseRecord(cell, index);
    return DAMAGED;
  }
  const nowTicks = newTick(nowUs);
  while (true) {
    if (onlyOf != ANY && generationOf(cell, word) != onlyOf) {
      releaseRecord(cell, index);
      return DONE;
    }
    const held = onlyOf == ANY ? keptTicks(word, nowUs) : heldTicks(word, nowUs);
    store32(cell + BUCKET_before + (index << 2), generationOf(cell, word));
    // Before the exchange: if this thread is terminated in between, no observer misses a change.
    endTenure(cell, word);
    const next = ((nowTicks - withinSpan(held)) << INDEX_BITS) | (index as i64);
    if (exchange64(cell + CELL_word, word, next) == word) break;
    word = readLive(cell);
    if (senseless) {
      releaseRecord(cell, index);
      return DAMAGED;
    }
  }
  releaseRecord(cell, (word & INDEX_MASK) as i32);
  return DONE;
}

/** Writes a bucket into cleared memory before any other thread can see it. */
export function createBucket(
  cell: usize,
  nowUs: f64,
  rate: f64,
  most: f64,
  perToken: f64,
  perMicro: f64,
  fill: f64,
  initial: f64,
): f64 {
  newLimit(rate, most, perToken, perMicro, fill);
  const generation = nextGeneration(cell);
  placeOrigin(nowUs, generation);
  if (!isFinite(newOriginUs)) return DAMAGED;
  writeRecord(cell, 0, generation);
  store32(cell + BUCKET_claims, 1);
  const zeroTime = newTick(nowUs) - ticksUp(initial, perToken);
  exchange64(cell + CELL_word, 0, zeroTime << INDEX_BITS);
  return DONE;
}

/** Puts a new limit in force. Every call on any thread sees either the old or the new limit. */
export function reconfigure(
  cell: usize,
  nowUs: f64,
  rate: f64,
  most: f64,
  perToken: f64,
  perMicro: f64,
  fill: f64,
): f64 {
  newLimit(rate, most, perToken, perMicro, fill);
  return publish(cell, nowUs, CLAIM_ATTEMPTS, ANY);
}

/**
 * Moves the origin of a word's record to now if it is still live. If no record is free, a later
 * call retries. Held ticks are not capped, so threads with older clock readings see no change.
 */
export function renew(cell: usize, word: i64, nowUs: f64): void {
  const generation = generationOf(cell, word);
  if (generation == 0 || !readRecord(cell, word)) return;
  newLimit(rateOf(cell, word), burst, ticksPerToken, ticksPerMicro, fillTicks);
  // If the word has changed, the fields may come from two records.
  if (isStill(cell, word)) publish(cell, nowUs, RECORD_COUNT, generation);
}
