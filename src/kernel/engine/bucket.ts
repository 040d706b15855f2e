import { round, ticksDown } from './arithmetic';
import { exchange64, load64 } from './atomics';
import {
  CELL_word,
  INDEX_BITS,
  INDEX_MASK,
  LATER,
  MAX_SPAN_TICKS,
  NEVER,
  RENEW_TICKS,
} from './constants';
import { renew } from './reconfigure';
import {
  burst,
  capTicks,
  costOf,
  DAMAGED,
  fillAt,
  fillTicks,
  forget,
  generationOf,
  isKnown,
  isLearnt,
  isStill,
  knownGeneration,
  knownUs,
  knownWord,
  learn,
  nearestTick,
  readRecord,
  remember,
  ticksPerMicro,
  ticksPerToken,
  tokensOf,
  untilHeld,
} from './record';

// The operations on one bucket, as BucketKernel describes them. Where that throws, these return DAMAGED.

const MAX_SPAN: f64 = MAX_SPAN_TICKS as f64;
/** What is closer than this is counted as being at the same time. */
const AT_ONCE_US: f64 = 1;
const UNTIL_RENEWAL: f64 = RENEW_TICKS as f64;

// What the last operation left.
/** The word that it wrote, or the one that it stood on. */
let lastWord: i64 = 0;
/** What was asked for, in ticks. */
let lastCost: i64 = 0;
/** What the bucket held, in ticks. */
let lastTicks: f64 = 0;
let lostRaces: i32 = 0;
/** Of the record that the last acquisition stood on. */
let lastGeneration: i32 = 0;

export function receiptWord(): i64 {
  return lastWord;
}

export function receiptCost(): i64 {
  return lastCost << INDEX_BITS;
}

export function receiptGeneration(): i32 {
  return lastGeneration;
}

export function racesLost(): i32 {
  return lostRaces;
}

export function heldTicks(): f64 {
  return lastTicks;
}

/** The tick of this call, and the one from which the bucket counts. */
let tick: f64 = 0;
let nowTicks: i64 = 0;
/** The generation of a record that this call tried to renew: once each, as that may not be possible yet. */
let renewed: i32 = 0;

function begin(): void {
  lostRaces = 0;
  renewed = 0;
}

/** What became of a look at a word. */
const SEEN = 0;
const CHANGED = 1;
const SENSELESS = 2;

/** Loads nothing but the record of a word, and the time under it. */
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

/** Renews the record of a word, under which the tick is late, or none at all. */
function renewOnce(cell: usize, word: i64, nowUs: f64): i32 {
  const generation = generationOf(cell, word);
  if (generation != renewed) {
    renewed = generation;
    if (tick == tick) renew(cell, word, nowUs);
    return CHANGED;
  }
  if (tick <= MAX_SPAN) return SEEN;
  // It could not be renewed yet; a record is never as old as this.
  return isStill(cell, word) ? SENSELESS : CHANGED;
}

/** What the bucket holds under a word that was looked at. */
function heldUnder(word: i64): i64 {
  return min(capTicks, nowTicks - (word >> INDEX_BITS));
}

export function acquire(cell: usize, nowUs: f64, tokens: f64, maxWaitUs: f64): f64 {
  begin();
  // Once, and once more for each record that goes live meanwhile.
  while (true) {
    if (!isLearnt(cell) && !learn(cell, nowUs)) return DAMAGED;
    tick = nearestTick(nowUs);
    if (!(tick <= UNTIL_RENEWAL)) {
      const word = load64(cell + CELL_word);
      const outcome = isKnown(cell, word) ? renewOnce(cell, word, nowUs) : CHANGED;
      if (outcome == SENSELESS) return DAMAGED;
      if (outcome == CHANGED) {
        forget();
        continue;
      }
    }
    nowTicks = fillAt(tick) as i64;
    // All that follows from the record alone is computed before the word is loaded, because the
    // shorter the time from load to exchange, the fewer races are lost.
    const cost = costOf(tokens);
    const maxWait = maxWaitUs == 0 ? 0 : min(round(maxWaitUs * ticksPerMicro), MAX_SPAN);
    const costWord = cost << INDEX_BITS;
    const fullTime = nowTicks - capTicks;
    const sinceFill = tick - (nowTicks as f64);

    // A guess in place of a load: where another thread has changed the word, the exchange fails and
    // finds it, and a bucket's line has come from that thread's processor once instead of twice.
    let word = knownWord;
    let guessed = true;
    while (isKnown(cell, word)) {
      const zeroTime = word >> INDEX_BITS;
      const full = zeroTime < fullTime;
      // The zero-time, seen from now.
      const ahead = full ? -capTicks : zeroTime - nowTicks;
      const due = (ahead + cost) as f64;
      let wait = due;
      if (fillTicks != 0 && due > 0) wait = ceil(due / fillTicks) * fillTicks - sinceFill;
      if (cost == 0 || cost > capTicks || wait > maxWait) {
        // Nothing is to be written. Right when the word was loaded, if it is still the same.
        const again = load64(cell + CELL_word);
        if (again == word) {
          remember(word, nowUs);
          lastWord = word;
          lastCost = cost;
          lastTicks = 0 - (ahead as f64);
          return cost == 0 ? 0 : cost > capTicks ? NEVER : LATER;
        }
        word = again;
        guessed = false;
        continue;
      }
      const next = full ? wordOf(fullTime + cost, word) : word + costWord;
      const seen = exchange64(cell + CELL_word, word, next);
      if (seen == word) {
        remember(next, nowUs);
        lastWord = next;
        lastCost = cost;
        lastTicks = 0 - due;
        lastGeneration = knownGeneration;
        return wait > 0 ? wait / ticksPerMicro : 0;
      }
      // A guess is as old as this thread's last call. If the word has changed since, that was a race
      // only where it has changed just now.
      if (!guessed || nowUs - knownUs < AT_ONCE_US) lostRaces++;
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

/** Loads the word and looks at it until both are of one instant; false if they make no sense. */
function settle(cell: usize, nowUs: f64): bool {
  while (true) {
    const word = load64(cell + CELL_word);
    const outcome = look(cell, word, nowUs);
    if (outcome == SENSELESS) return false;
    if (outcome == SEEN && isStill(cell, word)) {
      lastWord = word;
      lastTicks = heldUnder(word) as f64;
      return true;
    }
  }
}

// What `decide` says beside the wait.
let verdictBurst: f64 = 0;
let verdictBalance: f64 = 0;
let verdictRetryUs: f64 = 0;
let verdictFullUs: f64 = 0;

export function burstThen(): f64 {
  return verdictBurst;
}

export function balanceThen(): f64 {
  return verdictBalance;
}

export function retryUs(): f64 {
  return verdictRetryUs;
}

export function fullUs(): f64 {
  return verdictFullUs;
}

export function decide(cell: usize, nowUs: f64, tokens: f64): f64 {
  const wait = acquire(cell, nowUs, tokens, 0);
  if (wait == DAMAGED) return wait;
  verdictBurst = burst;
  verdictBalance = tokensOf(lastTicks);
  const wanted = lastCost as f64;
  verdictRetryUs = wait == 0 ? 0 : untilHeld(nowUs, lastTicks, wanted);
  verdictFullUs = untilHeld(nowUs, lastTicks, capTicks as f64);
  return wait;
}

export function drain(cell: usize, nowUs: f64, tokens: f64): f64 {
  begin();
  const most = floor(tokens);
  while (true) {
    if (!settle(cell, nowUs)) return DAMAGED;
    const word = lastWord;
    if (ticksPerToken == 0) return most;
    const held = heldUnder(word);
    const taken = min(most, (held / (ticksPerToken as i64)) as f64);
    if (taken <= 0) return 0;
    const next = wordOf(nowTicks - held + costOf(taken), word);
    if (exchange64(cell + CELL_word, word, next) == word) return taken;
    lostRaces++;
  }
}

/** Gives tokens back: 0, or DAMAGED. */
export function refund(cell: usize, nowUs: f64, tokens: f64): f64 {
  begin();
  while (true) {
    if (!settle(cell, nowUs)) return DAMAGED;
    const word = lastWord;
    const held = min(capTicks, heldUnder(word) + ticksDown(tokens, ticksPerToken));
    if (exchange64(cell + CELL_word, word, wordOf(nowTicks - held, word)) == word) return 0;
  }
}

export function cancel(cell: usize, word: i64, cost: i64): bool {
  if (exchange64(cell + CELL_word, word, word - cost) != word) return false;
  if (isLearnt(cell)) remember(word - cost, knownUs);
  return true;
}

/** Tokens in the bucket, in debt less than 0. NaN instead of DAMAGED. */
export function balance(cell: usize, nowUs: f64): f64 {
  begin();
  return settle(cell, nowUs) ? tokensOf(lastTicks) : NaN;
}

export function timeUntil(cell: usize, nowUs: f64, tokens: f64): f64 {
  begin();
  return settle(cell, nowUs) ? untilHeld(nowUs, lastTicks, costOf(tokens) as f64) : DAMAGED;
}
