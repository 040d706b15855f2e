import { exchange64, load64 } from '../accesses';
import { begin, isLate, renewKnown, SEEN, SENSELESS } from './instant';
import { CELL_word, INDEX_BITS, INDEX_MASK, MAX_SPAN_TICKS } from '../constants';
import { decision, floored } from '../decision';
import {
  capTicks,
  costOf,
  fillAt,
  fillTicks,
  nearestTick,
  ticksOfWait,
  ticksPerMicro,
} from './limit';
import { forget, isKnown, isLearnt, knownUs, knownWord, learn, remember } from './record';
import { failed, leaveCost, leaveOutcome, leaveWord, loseRace } from '../results';

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
      if (!guessed || nowUs - knownUs < AT_ONCE_US) loseRace();
      guessed = false;
      word = seen;
    }
    forget();
  }
}

/** The word with this zero-time and the record index of `word`. */
export function wordOf(zeroTime: i64, word: i64): i64 {
  return (zeroTime << INDEX_BITS) | (word & INDEX_MASK);
}

export function decide(cell: usize, nowUs: f64, tokens: f64): f64 {
  const wait = acquire(cell, nowUs, tokens, 0);
  if (wait != failed) leaveOutcome(nowUs, lastTicks, lastCost as f64, wait == 0);
  return wait;
}
