import { exchange64, load64 } from './accesses';
import { round, ticksDown } from './arithmetic';
import {
  BUSY,
  CELL_word,
  DAMAGED,
  INDEX_BITS,
  INDEX_MASK,
  MAX_SPAN_TICKS,
  RENEW_TICKS,
} from './constants';
import { decision, floored, wholeTokens } from './decision';
import {
  capTicks,
  costOf,
  fillAt,
  fillTicks,
  nearestTick,
  ticksPerMicro,
  ticksPerToken,
  tokensOf,
  untilHeld,
} from './limit';
import { leaveOutcome } from './outcome';
import { beginRaces, loseRace } from './races';
import { leaveCost, leaveGeneration, leaveWord } from './receipt';
import {
  forget,
  generationOf,
  isKnown,
  isLearnt,
  isStill,
  knownGeneration,
  knownUs,
  knownWord,
  learn,
  readRecord,
  remember,
} from './record';
import { renew } from './reconfigure';
import { joined } from './word';

// The operations on one bucket, as TokenKernel describes them. Where that throws, they return DAMAGED
// or BUSY.

const MAX_SPAN: f64 = MAX_SPAN_TICKS as f64;
/** Changes less than this apart count as simultaneous. */
const AT_ONCE_US: f64 = 1;
const UNTIL_RENEWAL: f64 = RENEW_TICKS as f64;

// What the last operation left.
let lastCost: i64 = 0;
/** What the bucket held, in ticks. */
let lastTicks: f64 = 0;
/** Why an operation failed. */
let failed: f64 = DAMAGED;

export function failure(): f64 {
  return failed;
}

/** The tick of this call, and the one from which the bucket counts. */
let tick: f64 = 0;
let nowTicks: i64 = 0;
/** The generation of a record that this call tried to renew: once each, as that may not be possible yet. */
let renewed: i32 = 0;

function begin(): void {
  beginRaces();
  renewed = 0;
  failed = DAMAGED;
}

/** What became of a look at a word. */
const SEEN = 0;
const CHANGED = 1;
const SENSELESS = 2;

/** Reads the record of a word, and the time under it. */
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

/** Renews the record of a word, under which the tick is late, or NaN. */
function renewOnce(cell: usize, word: i64, nowUs: f64): i32 {
  const generation = generationOf(cell, word);
  if (generation != renewed) {
    renewed = generation;
    if (tick == tick) renew(cell, word, nowUs);
    return CHANGED;
  }
  if (tick <= MAX_SPAN) return SEEN;
  if (!isStill(cell, word)) return CHANGED;
  // For years no record was free.
  if (tick == tick) failed = BUSY;
  return SENSELESS;
}

/** What the bucket holds under a word that was looked at. */
function heldUnder(word: i64): i64 {
  return nowTicks - floored(word >> INDEX_BITS, nowTicks, capTicks);
}

export function acquire(cell: usize, nowUs: f64, tokens: f64, maxWaitUs: f64): f64 {
  begin();
  // Once, and once more for each record that goes live meanwhile.
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
    // Computed before the word is loaded: the shorter the time from load to exchange, the fewer races
    // are lost.
    const cost = costOf(tokens);
    const maxWait = maxWaitUs == 0 ? 0 : min(round(maxWaitUs * ticksPerMicro), MAX_SPAN);
    const sinceFill = tick - (nowTicks as f64);

    // A guess in place of a load: if another thread has changed the word, the exchange fails and
    // returns it, so the cache line travels once instead of twice.
    let word = knownWord;
    let guessed = true;
    while (isKnown(cell, word)) {
      const zeroTime = floored(word >> INDEX_BITS, nowTicks, capTicks);
      const wait = decision(zeroTime, nowTicks, capTicks, cost, maxWait, fillTicks, sinceFill);
      if (cost == 0 || wait < 0) {
        // Nothing is written. The refusal is right at the load if the word is still the same.
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
        lastCost = cost;
        lastTicks = (nowTicks - zeroTime - cost) as f64;
        leaveWord(next);
        leaveCost(cost << INDEX_BITS);
        leaveGeneration(knownGeneration);
        return wait > 0 ? wait / ticksPerMicro : 0;
      }
      // A guess may be as old as this thread's last call: it lost a race only if that was just now.
      if (!guessed || nowUs - knownUs < AT_ONCE_US) loseRace();
      guessed = false;
      word = seen;
    }
    forget();
  }
}

/** A zero-time under the record of another word. */
function wordOf(zeroTime: i64, word: i64): i64 {
  return (zeroTime << INDEX_BITS) | (word & INDEX_MASK);
}

/** The word that {@link settle} found. */
let settled: i64 = 0;

/** Loads the word and reads its record, both at one instant; false if they make no sense. */
function settle(cell: usize, nowUs: f64): bool {
  while (true) {
    const word = load64(cell + CELL_word);
    const outcome = look(cell, word, nowUs);
    if (outcome == SENSELESS) return false;
    if (outcome == SEEN && isStill(cell, word)) {
      settled = word;
      lastTicks = heldUnder(word) as f64;
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
  // Not all of them are there.
  while (settle(cell, nowUs)) {
    const word = settled;
    if (ticksPerToken == 0) return most;
    const held = heldUnder(word);
    const taken = wholeTokens(held, ticksPerToken, most);
    if (taken == 0) return 0;
    const next = wordOf(nowTicks - held + costOf(taken), word);
    if (exchange64(cell + CELL_word, word, next) == word) return taken;
    loseRace();
  }
  return failed;
}

/** Returns 0, or why it failed. */
export function returnTokens(cell: usize, nowUs: f64, tokens: f64): f64 {
  begin();
  while (true) {
    if (!settle(cell, nowUs)) return failed;
    const word = settled;
    const held = min(capTicks, heldUnder(word) + ticksDown(tokens, ticksPerToken));
    if (exchange64(cell + CELL_word, word, wordOf(nowTicks - held, word)) == word) return 0;
  }
}

export function cancel(cell: usize, low: i32, high: i32, costLow: i32, costHigh: i32): bool {
  const word = joined(low, high);
  const before = word - joined(costLow, costHigh);
  if (exchange64(cell + CELL_word, word, before) != word) return false;
  if (isLearnt(cell)) remember(before, knownUs);
  return true;
}

/** Tokens in the bucket, less than 0 in debt; NaN after a failure. */
export function balance(cell: usize, nowUs: f64): f64 {
  begin();
  return settle(cell, nowUs) ? tokensOf(lastTicks) : NaN;
}

export function timeUntil(cell: usize, nowUs: f64, tokens: f64): f64 {
  begin();
  return settle(cell, nowUs) ? untilHeld(nowUs, lastTicks, costOf(tokens) as f64) : failed;
}
