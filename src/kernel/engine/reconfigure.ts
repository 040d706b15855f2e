import { round, scale } from './arithmetic';
import { add32, and32, exchange32, exchange64, load32, load64, store32 } from './atomics';
import {
  BUCKET_before,
  BUCKET_claims,
  BUCKET_sequence,
  CELL_word,
  CLAIM_ATTEMPTS,
  INDEX_BITS,
  INDEX_MASK,
  MAX_ORIGIN_TICKS,
  MAX_SPAN_TICKS,
  ORIGIN_PLACES,
  ORIGIN_STEP_US,
  RECORD_burst,
  RECORD_COUNT,
  RECORD_capTicks,
  RECORD_fillTicks,
  RECORD_generation,
  RECORD_originUs,
  RECORD_rate,
  RECORD_tenure,
  RECORD_ticksPerMicro,
  RECORD_ticksPerToken,
  SAME_INTERVAL,
} from './constants';
import { writeF64, writeI64 } from './plain';
import {
  burst,
  capTicks,
  fillAt,
  fillTicks,
  generationOf,
  isStill,
  nearestTick,
  originUs,
  rateOf,
  readRecord,
  recordAt,
  ticksPerMicro,
  ticksPerToken,
} from './record';

// What a reconfiguration can come to.
const DONE = 0;
const BUSY = 1;
const SENSELESS = 2;

// The record to be made live.
let newRate: f64 = 0;
let newBurst: f64 = 0;
let newTicksPerToken: f64 = 0;
let newTicksPerMicro: f64 = 0;
let newCapTicks: i64 = 0;
let newFillTicks: f64 = 0;
let newOriginUs: f64 = 0;

const NONE = -1;

/** Takes a record that nobody uses: the next free one after the live one, so that each rests long. */
function claimRecord(cell: usize, attempts: i32): i32 {
  for (let attempt = 0; attempt < attempts; attempt++) {
    const claims = load32(cell + BUCKET_claims);
    const live = (load64(cell + CELL_word) & INDEX_MASK) as i32;
    for (let step = 1; step < RECORD_COUNT; step++) {
      const index = (live + step) & INDEX_MASK;
      const bit = 1 << index;
      if ((claims & bit) != 0) continue;
      if (exchange32(cell + BUCKET_claims, claims, claims | bit) == claims) return index;
      break;
    }
  }
  return NONE;
}

function releaseRecord(cell: usize, index: i32): void {
  and32(cell + BUCKET_claims, ~(1 << index));
}

/** The next generation of a cell: never 0. */
function nextGeneration(cell: usize): i32 {
  while (true) {
    const generation = (add32(cell + BUCKET_sequence, 1) + 1) & 0x7fffffff;
    if (generation != 0) return generation;
  }
}

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

/** Where the fills of the next record lie: they go on as before if the interval stays the same. */
function gridOf(nowUs: f64): f64 {
  const before = fillTicks / ticksPerMicro;
  const after = newFillTicks / newTicksPerMicro;
  if (after == 0 || abs(after - before) > before * SAME_INTERVAL) return nowUs;
  return originUs + fillAt(nearestTick(nowUs)) / ticksPerMicro;
}

/** The origin of the new record: another for each generation, as `originOf` in config-record.ts. */
function originOf(gridUs: f64, generation: i32): f64 {
  if (newFillTicks == 0) return (gridUs - (generation % ORIGIN_PLACES) * ORIGIN_STEP_US) as f64;
  const places = min(ORIGIN_PLACES as f64, max(1, floor((MAX_ORIGIN_TICKS as f64) / newFillTicks)));
  return gridUs - ((generation % (places as i32)) as f64) * (newFillTicks / newTicksPerMicro);
}

/** Fills a record that nobody else writes. Its generation comes last: 0 means "being written". */
function writeRecord(cell: usize, index: i32, generation: i32): void {
  const at = recordAt(cell, index);
  store32(at + RECORD_generation, 0);
  writeF64(at + RECORD_rate, newRate);
  writeF64(at + RECORD_burst, newBurst);
  writeF64(at + RECORD_ticksPerToken, newTicksPerToken);
  writeF64(at + RECORD_ticksPerMicro, newTicksPerMicro);
  writeI64(at + RECORD_capTicks, newCapTicks);
  writeF64(at + RECORD_fillTicks, newFillTicks);
  writeF64(at + RECORD_originUs, newOriginUs);
  store32(at + RECORD_tenure, generation);
  store32(at + RECORD_generation, generation);
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
function publish(cell: usize, nowUs: f64, attempts: i32, onlyOf: i32): i32 {
  const index = claimRecord(cell, attempts);
  if (index == NONE) return BUSY;
  let word = readLive(cell);
  if (senseless) {
    releaseRecord(cell, index);
    return SENSELESS;
  }
  const generation = nextGeneration(cell);
  newOriginUs = originOf(gridOf(nowUs), generation);
  writeRecord(cell, index, generation);
  if (!isFinite(newOriginUs)) {
    releaseRecord(cell, index);
    return SENSELESS;
  }
  // The new record's time, with the new record's numbers.
  const tick = round((nowUs - newOriginUs) * newTicksPerMicro);
  const nowTicks = (newFillTicks == 0 ? tick : floor(tick / newFillTicks) * newFillTicks) as i64;
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
      return SENSELESS;
    }
  }
  releaseRecord(cell, (word & INDEX_MASK) as i32);
  return DONE;
}

/** Puts another limit in force. Every call of any thread sees the limit before or the limit after. */
export function reconfigure(
  cell: usize,
  nowUs: f64,
  rate: f64,
  most: f64,
  perToken: f64,
  perMicro: f64,
  cap: i64,
  fill: f64,
): i32 {
  newRate = rate;
  newBurst = most;
  newTicksPerToken = perToken;
  newTicksPerMicro = perMicro;
  newCapTicks = cap;
  newFillTicks = fill;
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
  newRate = rateOf(cell, word);
  newBurst = burst;
  newTicksPerToken = ticksPerToken;
  newTicksPerMicro = ticksPerMicro;
  newCapTicks = capTicks;
  newFillTicks = fillTicks;
  // Otherwise what was read may be of two records.
  if (isStill(cell, word)) publish(cell, nowUs, RECORD_COUNT, generation);
}
