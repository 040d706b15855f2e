import { exchange64, load64 } from './accesses';
import { joined, ticksDown } from './arithmetic';
import {
  capTicks,
  costOf,
  dueAt,
  fillAt,
  fillTicks,
  findIndex,
  leaveLive,
  nearestTick,
  originOffsetUs,
  originUs,
  tickOf,
  ticksOfWait,
  ticksPerMicro,
  ticksPerToken,
  tokensOf,
  untilHeld,
} from './bucket/limit';
import {
  bringForward,
  epochOf,
  forget,
  isKnown,
  isLearnt,
  isStill,
  knownEpoch,
  knownLimit,
  knownUs,
  knownWord,
  learn,
  limitOf,
  readRecord,
  remember,
  renew,
} from './bucket/record';
import {
  BUSY,
  CELL_word,
  DAMAGED,
  INDEX_BITS,
  INDEX_MASK,
  MAX_SPAN_TICKS,
  RENEW_TICKS,
  SUPERSEDED,
} from './constants';
import { decision, floored, wholeTokens } from './decision';
import {
  beginExchanges,
  failBecause,
  failed,
  failExchange,
  leaveCost,
  leaveOutcome,
  leaveWord,
  word as written,
} from './results';

// A bucket at the instant of a call: the time in its ticks, its contents, and why a call fails.

const MAX_SPAN: f64 = MAX_SPAN_TICKS as f64;
const UNTIL_RENEWAL: f64 = RENEW_TICKS as f64;

/** The tick of this call, and the tick up to which the bucket's tokens have arrived. */
let tick: f64 = 0;
let nowTicks: i64 = 0;
/**
 * The epoch that this call tried to renew. It tries each once, because no record may be free.
 */
let renewed: i32 = 0;
/** What came of it. */
let renewal: f64 = 0;

function begin(): void {
  beginExchanges();
  renewed = 0;
  failBecause(DAMAGED);
}

// The outcomes of {@link lookAt} and {@link renewKnown}.
const SEEN = 0;
const CHANGED = 1;
const SENSELESS = 2;

/** Reads the record that a word names, and converts the time to its ticks. */
function lookAt(cell: usize, word: i64, nowUs: f64): i32 {
  if (!readRecord(cell, word)) return isStill(cell, word) ? SENSELESS : CHANGED;
  tick = nearestTick(nowUs);
  if (isLate(tick)) {
    const outcome = renewOnce(cell, word, nowUs);
    if (outcome != SEEN) return outcome;
  }
  nowTicks = fillAt(tick) as i64;
  return SEEN;
}

/** Whether a tick is so late in its record, or NaN, that the record must be renewed. */
function isLate(at: f64): bool {
  return !(at <= UNTIL_RENEWAL);
}

/** Renews the record that this thread knows, at a tick that {@link isLate}. */
function renewKnown(cell: usize, nowUs: f64, late: f64): i32 {
  tick = late;
  const word = load64(cell + CELL_word);
  return isKnown(cell, word) ? renewOnce(cell, word, nowUs) : CHANGED;
}

/** Renews the record that a word names. Precondition: the tick is past UNTIL_RENEWAL, or NaN. */
function renewOnce(cell: usize, word: i64, nowUs: f64): i32 {
  const epoch = epochOf(cell, word);
  if (epoch != renewed) {
    renewed = epoch;
    renewal = tick == tick ? renew(cell, word, nowUs) : DAMAGED;
    return CHANGED;
  }
  if (tick <= MAX_SPAN) return SEEN;
  if (!isStill(cell, word)) return CHANGED;
  // No record was free for years, or the clock returned no number.
  failBecause(renewal);
  return SENSELESS;
}

// Results of {@link settle}: the word, and the bucket's contents in ticks.
let settled: i64 = 0;
let held: i64 = 0;

/** Loads the word and its record as of one instant; false if they are invalid. */
function settle(cell: usize, nowUs: f64): bool {
  while (true) {
    const word = load64(cell + CELL_word);
    const outcome = lookAt(cell, word, nowUs);
    if (outcome == SENSELESS) return false;
    if (outcome == SEEN && isStill(cell, word)) {
      settled = word;
      held = nowTicks - floored(word >> INDEX_BITS, nowTicks, capTicks);
      return true;
    }
  }
}

// The admissions of one bucket. Every other limiter has its own version of this loop.

/** Changes closer together than this count as simultaneous. */
const AT_ONCE_US: f64 = 1;

// Results of the last admission: its cost, and the bucket's contents in ticks.
let lastCost: i64 = 0;
let lastTicks: f64 = 0;

export function acquire(cell: usize, nowUs: f64, tokens: f64, maxWaitUs: f64): f64 {
  return take(cell, nowUs, tokens, maxWaitUs, false);
}

/** Takes tokens without a maximum, even more than the bucket can hold; LATER beyond 4.4 years. */
export function charge(cell: usize, nowUs: f64, tokens: f64): f64 {
  return take(cell, nowUs, tokens, Infinity, true);
}

function take(cell: usize, nowUs: f64, tokens: f64, maxWaitUs: f64, isCharge: bool): f64 {
  begin();
  // Runs once, and again for each record that goes live during the call.
  while (true) {
    if (!isLearnt(cell) && !learn(cell, nowUs)) return failed;
    // Keep these in locals: the exchange would wait for a global that is written and read back.
    const tick = nearestTick(nowUs);
    if (isLate(tick)) {
      const outcome = renewKnown(cell, nowUs, tick);
      if (outcome == SENSELESS) return failed;
      if (outcome != SEEN) {
        forget();
        continue;
      }
    }
    const nowTicks = fillAt(tick) as i64;
    // Compute this before loading the word: the shorter the time to the exchange, the fewer lost
    // races.
    const cost = costOf(tokens);
    const maxWait = ticksOfWait(maxWaitUs);
    const most = isCharge ? MAX_SPAN_TICKS : capTicks;
    const sinceFill = tick - (nowTicks as f64);

    // Guess the word instead of loading it. If another thread has changed it, the exchange returns
    // the current word, so the cache line is transferred once, not twice.
    let word = knownWord;
    let guessed = true;
    while (isKnown(cell, word)) {
      const zeroTime = floored(word >> INDEX_BITS, nowTicks, capTicks);
      const wait = decision(zeroTime, nowTicks, most, cost, maxWait, fillTicks, sinceFill);
      if (cost == 0 || wait < 0) {
        // Nothing is written. If the word is unchanged, the answer is linearized at this load.
        const again = load64(cell + CELL_word);
        if (again == word) {
          remember(word, nowUs);
          lastCost = cost;
          lastTicks = (nowTicks - zeroTime) as f64;
          leaveWord(word);
          leaveCost(0);
          return wait;
        }
        word = again;
        guessed = false;
        continue;
      }
      const next = wordOf(zeroTime + cost, word);
      const seen = exchange64(cell + CELL_word, word, next);
      if (seen == word) {
        remember(next, nowUs);
        lastTicks = (nowTicks - zeroTime - cost) as f64;
        leaveWord(next);
        leaveCost(cost << INDEX_BITS);
        return wait > 0 ? wait / ticksPerMicro : 0;
      }
      // A guess is as old as this thread's last call, so only a recent one can have lost a race.
      if (!guessed || nowUs - knownUs < AT_ONCE_US) failExchange();
      guessed = false;
      word = seen;
    }
    forget();
  }
}

/** The word with this zero-time and the record index of `word`. */
function wordOf(zeroTime: i64, word: i64): i64 {
  return (zeroTime << INDEX_BITS) | (word & INDEX_MASK);
}

export function decide(cell: usize, nowUs: f64, tokens: f64): f64 {
  const wait = acquire(cell, nowUs, tokens, 0);
  if (wait != failed) leaveOutcome(nowUs, lastTicks, lastCost as f64, wait == 0);
  return wait;
}

// The other operations on one bucket, as specified by TokenKernel. They return DAMAGED or BUSY if
// the host must throw.

export function drain(cell: usize, nowUs: f64, tokens: f64): f64 {
  const most = floor(tokens);
  const wait = acquire(cell, nowUs, most, 0);
  if (wait == 0) return most;
  if (wait == failed) return wait;
  // The bucket holds fewer than `most`: take what it has.
  while (settle(cell, nowUs)) {
    const word = settled;
    if (ticksPerToken == 0) return most;
    const taken = wholeTokens(held, ticksPerToken, most);
    if (taken == 0) return 0;
    const next = wordOf(nowTicks - held + costOf(taken), word);
    if (exchange64(cell + CELL_word, word, next) == word) return taken;
    failExchange();
  }
  return failed;
}

/** Returns 0, 1 if waiting callers have moved up, or the reason for the failure. */
export function returnTokens(cell: usize, nowUs: f64, tokens: f64): f64 {
  begin();
  while (true) {
    if (!settle(cell, nowUs)) return failed;
    const amount = ticksDown(tokens, ticksPerToken);
    if (held < 0 && amount > 0) {
      const outcome = bringForward(cell, settled, nowUs, tokens);
      if (outcome == 0) return 1;
      if (outcome == SUPERSEDED) continue;
      if (outcome != BUSY) return outcome;
      // Every record is claimed: return the tokens to later callers, and move no one.
      if (!settle(cell, nowUs)) return failed;
    }
    const word = settled;
    const next = min(capTicks, held + amount);
    if (exchange64(cell + CELL_word, word, wordOf(nowTicks - next, word)) == word) return 0;
  }
}

/** Tokens in the bucket, negative in debt; NaN after a failure. */
export function balance(cell: usize, nowUs: f64): f64 {
  begin();
  return settle(cell, nowUs) ? tokensOf(held as f64) : NaN;
}

export function timeUntil(cell: usize, nowUs: f64, tokens: f64): f64 {
  begin();
  return settle(cell, nowUs) ? untilHeld(nowUs, held as f64, costOf(tokens) as f64) : failed;
}

// Reserved tokens: when they are due, and how they are returned.

/** Computes the index of the last admission's last token, which is not due yet. */
export function findPromise(): void {
  findIndex(written >> INDEX_BITS);
}

/** The epochs of the record that admitted it and of that record's limit. */
export function promiseEpoch(): i32 {
  return knownEpoch;
}

export function promiseLimit(): i32 {
  return knownLimit;
}

/** Reads the live record; false if it is invalid. */
function readLive(cell: usize, word: i64): bool {
  if (!readRecord(cell, word)) return false;
  const live = epochOf(cell, word);
  leaveLive(live, originUs + originOffsetUs(fillTicks, ticksPerMicro, live));
  return true;
}

/** When the token with an index is due under the live limit; NaN if the record is invalid. */
export function dueUs(
  cell: usize,
  tokenLow: i32,
  tokenHigh: i32,
  fractionLow: i32,
  fractionHigh: i32,
): f64 {
  while (true) {
    const word = load64(cell + CELL_word);
    const isSound = readLive(cell, word);
    if (!isStill(cell, word)) continue;
    if (!isSound) return NaN;
    const token = tickOf(joined(tokenLow, tokenHigh), joined(fractionLow, fractionHigh));
    return dueAt(token, word >> INDEX_BITS);
  }
}

/** Returns the cost to the bucket, if the word is unchanged since the admission. */
export function cancel(cell: usize, low: i32, high: i32, costLow: i32, costHigh: i32): bool {
  const word = joined(low, high);
  const before = word - joined(costLow, costHigh);
  if (exchange64(cell + CELL_word, word, before) != word) return false;
  if (isLearnt(cell)) remember(before, knownUs);
  return true;
}

/**
 * Returns the cost, if since then tokens were only returned, none taken, and the limit is the same.
 */
export function cancelMoved(
  cell: usize,
  limit: i32,
  tokenLow: i32,
  tokenHigh: i32,
  fractionLow: i32,
  fractionHigh: i32,
  costLow: i32,
  costHigh: i32,
): bool {
  while (true) {
    const word = load64(cell + CELL_word);
    const isSame = readRecord(cell, word) && limitOf(cell, word) == limit;
    if (!isStill(cell, word)) continue;
    if (!isSame) return false;
    const tick = tickOf(joined(tokenLow, tokenHigh), joined(fractionLow, fractionHigh));
    if (tick != word >> INDEX_BITS) return false;
    const before = word - joined(costLow, costHigh);
    if (exchange64(cell + CELL_word, word, before) == word) return true;
  }
}

// The exports of the module for buckets.

export {
  failure,
  failedExchanges,
  outcomeBalance,
  outcomeBurst,
  outcomeFullUs,
  outcomeNextUs,
  outcomeRetryUs,
  receiptCostHigh,
  receiptCostLow,
  receiptHigh,
  receiptLow,
} from './results';
export { fractionHigh, fractionLow, indexHigh, indexLow } from './bucket/limit';
export { createBucket, look, reconfigure } from './bucket/record';
export { forget as leaveRegion } from './bucket/record';
export { liveEpoch, liveSinceUs } from './bucket/limit';
