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
  fillAt,
  fillTicks,
  nearestTick,
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

// Changes the limit in force: a new configuration record goes live with one exchange of the word.

const DONE: f64 = 0;

/** Whether the live record made no sense when it was read last. */
let senseless: bool = false;

/** Reads the live record, and returns the word that names it. */
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

/** Says that another record may take this one's place from now on: see src/kernel/bucket/tenure.ts. */
function endTenure(cell: usize, word: i64): void {
  store32(recordAt(cell, (word & INDEX_MASK) as usize) + RECORD_tenure, 0);
}

/** What the bucket holds, in ticks of the record that was read; more than its capacity if it has idled. */
function heldTicks(word: i64, nowUs: f64): i64 {
  return (fillAt(nearestTick(nowUs)) as i64) - (word >> INDEX_BITS);
}

/** The tokens of the old bucket, in ticks of the next one. */
function keptTicks(word: i64, nowUs: f64): i64 {
  // An unlimited bucket is always full.
  if (ticksPerToken == 0) return newCapTicks;
  const held = min(capTicks, heldTicks(word, nowUs));
  const most = 2 * MAX_SPAN_TICKS;
  const kept = scale(held, newTicksPerToken as i64, ticksPerToken as i64, most);
  return min(newCapTicks, kept);
}

/** Both ways: a longer debt is forgiven, and longer idling makes nothing fuller. */
function withinSpan(ticks: i64): i64 {
  return max(-MAX_SPAN_TICKS, min(MAX_SPAN_TICKS, ticks));
}

/** Instead of a generation: whichever record is live. */
const ANY = 0;

/**
 * Makes the new record live: claims a free one, fills it, publishes it with one exchange of the
 * word that also carries the tokens over, and frees the record before it. Does nothing if the live
 * record is not of this generation; with ANY, tokens are carried over as tokens, otherwise as ticks.
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
    // Before the exchange: should this thread be terminated in between, nobody has missed anything.
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

/** Lays a bucket down in cleared memory, before any other thread can see it. */
export function createBucket(
  cell: usize,
  nowUs: f64,
  rate: f64,
  most: f64,
  perToken: f64,
  perMicro: f64,
  fill: f64,
  initial: f64,
): void {
  newLimit(rate, most, perToken, perMicro, fill);
  const generation = nextGeneration(cell);
  placeOrigin(nowUs, generation);
  writeRecord(cell, 0, generation);
  store32(cell + BUCKET_claims, 1);
  const zeroTime = newTick(nowUs) - ticksUp(initial, perToken);
  exchange64(cell + CELL_word, 0, zeroTime << INDEX_BITS);
}

/** Puts another limit in force. Every call of any thread sees the limit before or the limit after. */
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
 * Moves the origin of the record that a word names up to now, unless that is no longer live. Nothing
 * changes by that, not even for a thread whose clock reading is old: hence no cap on what is held.
 * If no record is free, the call goes on without, and the next one tries again.
 */
export function renew(cell: usize, word: i64, nowUs: f64): void {
  const generation = generationOf(cell, word);
  if (generation == 0 || !readRecord(cell, word)) return;
  newLimit(rateOf(cell, word), burst, ticksPerToken, ticksPerMicro, fillTicks);
  // Otherwise what was read may be of two records.
  if (isStill(cell, word)) publish(cell, nowUs, RECORD_COUNT, generation);
}
