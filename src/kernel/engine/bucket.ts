import { exchange64, load64 } from './accesses';
import { ticksDown } from './arithmetic';
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
  capTicks,
  costOf,
  fillAt,
  fillTicks,
  nearestTick,
  ticksOfWait,
  ticksPerMicro,
  ticksPerToken,
  tokensOf,
  untilHeld,
} from './limit';
import { beginRaces, leaveCost, leaveOutcome, leaveWord, loseRace } from './results';
import {
  forget,
  generationOf,
  isKnown,
  isLearnt,
  isStill,
  knownUs,
  knownWord,
  learn,
  readRecord,
  remember,
} from './record';
import { bringForward, renew } from './reconfigure';

// The operations on one bucket, as specified by TokenKernel. They return DAMAGED or BUSY where the
// host throws.

const MAX_SPAN: f64 = MAX_SPAN_TICKS as f64;
/** Changes closer together than this count as simultaneous. */
const AT_ONCE_US: f64 = 1;
const UNTIL_RENEWAL: f64 = RENEW_TICKS as f64;

// Results of the last operation.
let lastCost: i64 = 0;
/** The bucket's contents, in ticks. */
let lastTicks: f64 = 0;
/** Why the operation failed. */
let failed: f64 = DAMAGED;

export function failure(): f64 {
  return failed;
}

/** The tick of this call, and the tick from which the bucket counts. */
let tick: f64 = 0;
let nowTicks: i64 = 0;
/** The generation that this call tried to renew. Each is tried once, as no record may be free. */
let renewed: i32 = 0;

function begin(): void {
  beginRaces();
  renewed = 0;
  failed = DAMAGED;
}

// The outcomes of {@link look}.
const SEEN = 0;
const CHANGED = 1;
const SENSELESS = 2;

/** Reads the record that a word names, and converts the time to its ticks. */
function look(cell: usize, word: i64, nowUs: f64): i32 {
  if (!readRecord(cell, word)) return isStill(cell, word) ? SENSELESS : CHANGED;
  tick = nearestTick(nowUs);
  if (!(tick <= UNTIL_RENEWAL)) {
    const outcome = renewOnce(cell, word, nowUs);
    if (outcome != SEEN) return outcome;
  }
  nowTicks = fillAt(tick) as i64;
  return SEEN;
}

/** Renews the record that a word names. Precondition: the tick is past UNTIL_RENEWAL, or NaN. */
function renewOnce(cell: usize, word: i64, nowUs: f64): i32 {
  const generation = generationOf(cell, word);
  if (generation != renewed) {
    renewed = generation;
    if (tick == tick) renew(cell, word, nowUs);
    return CHANGED;
  }
  if (tick <= MAX_SPAN) return SEEN;
  if (!isStill(cell, word)) return CHANGED;
  // No record was free for years, or the clock returned no number.
  if (isFinite(tick)) failed = BUSY;
  return SENSELESS;
}

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
    tick = nearestTick(nowUs);
    if (!(tick <= UNTIL_RENEWAL)) {
      const word = load64(cell + CELL_word);
      const outcome = isKnown(cell, word) ? renewOnce(cell, word, nowUs) : CHANGED;
      if (outcome == SENSELESS) return failed;
      if (outcome == CHANGED) {
        forget();
        continue;
      }
    }
    nowTicks = fillAt(tick) as i64;
    // Computed before the word is loaded: a shorter time from load to exchange loses fewer races.
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
      if (!guessed || nowUs - knownUs < AT_ONCE_US) loseRace();
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

// Results of {@link settle}: the word, and the bucket's contents in ticks.
let settled: i64 = 0;
let held: i64 = 0;

/** Loads the word and its record as of one instant; false if they are invalid. */
function settle(cell: usize, nowUs: f64): bool {
  while (true) {
    const word = load64(cell + CELL_word);
    const outcome = look(cell, word, nowUs);
    if (outcome == SENSELESS) return false;
    if (outcome == SEEN && isStill(cell, word)) {
      settled = word;
      held = nowTicks - floored(word >> INDEX_BITS, nowTicks, capTicks);
      lastTicks = held as f64;
      return true;
    }
  }
}

export function decide(cell: usize, nowUs: f64, tokens: f64): f64 {
  const wait = acquire(cell, nowUs, tokens, 0);
  if (wait != failed) leaveOutcome(nowUs, lastTicks, lastCost as f64, wait == 0);
  return wait;
}

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
    loseRace();
  }
  return failed;
}

/** Returns 0, 1 if that moved callers that wait, or the reason for the failure. */
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
      // Every record is claimed: return the tokens to later callers, and move nobody.
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
  return settle(cell, nowUs) ? tokensOf(lastTicks) : NaN;
}

export function timeUntil(cell: usize, nowUs: f64, tokens: f64): f64 {
  begin();
  return settle(cell, nowUs) ? untilHeld(nowUs, lastTicks, costOf(tokens) as f64) : failed;
}
