import { load64, peek64, peekF64, readI64, writeI64 } from '../accesses';
import { round, ticksUp } from '../arithmetic';
import {
  blockAt,
  digestsAt,
  exchangeWord,
  recordOf,
  slotAt,
  slotOf,
  spare,
  spareAt,
  wordAfter,
  zeroTimeAt,
} from './slot';
import { begin, end, furthest, learnAll, refuseTick, rejuvenate } from './snapshot';
import {
  CELL_word,
  DIGEST_BYTES,
  DIGEST_capTicks,
  DIGEST_originUs,
  DIGEST_ticksPerMicro,
  DIGEST_ticksPerToken,
  MAX_SPAN_TICKS,
  SLOT_mark,
} from '../constants';
import { decision, floored } from '../decision';
import {
  burst,
  capTicks,
  costOf,
  nearestTick,
  readDigest,
  readLimit,
  ticksOfWait,
  ticksPerMicro,
} from '../bucket/limit';
import {
  forget,
  isKnown,
  isLearnt,
  knownUs,
  knownWord,
  recordAt,
  remember,
} from '../bucket/record';
import { failed, leaveCost, leaveWord, loseRace, reportOutcome } from '../results';
import { promise } from './notes';
import { findIndex, fractionHigh, fractionLow, indexHigh, indexLow } from '../bucket/token-index';

// Takes tokens from a bucket with several limits: all limits decide, and all zero-times change in
// one exchange of the word, whose version never recurs (composite/slot.ts).

/** Clock readings below this tick are clamped to it. */
const FURTHEST: f64 = 4 * (MAX_SPAN_TICKS as f64);
const FEW: f64 = 512;
/** Changes closer together than this count as simultaneous. */
const AT_ONCE_US: f64 = 1;
/** A tick in the far future, or no number: the records must be renewed first. */
const AGED: f64 = -100;

/** Whether the last decision takes nothing from any limit. */
let isFree: bool = false;

/**
 * Decides under every limit, and writes the zero-times of an admission into the spare slot. Returns
 * the longest wait in microseconds, LATER, NEVER or AGED.
 */
function survey(
  cell: usize,
  count: i32,
  word: i64,
  nowUs: f64,
  tokens: f64,
  maxWaitUs: f64,
  isCharge: bool,
): f64 {
  const slot = slotAt(cell, count, slotOf(word));
  const digests = digestsAt(cell, count, recordOf(word));
  let longest: f64 = 0;
  let refusal: f64 = 0;
  let costs: i64 = 0;
  const into = spareAt;
  const last = furthest;
  // A token has fewer than 2^53 ticks, so the product does not overflow.
  const few = tokens <= FEW && floor(tokens) == tokens;
  const whole = few ? (tokens as i64) : 0;
  for (let i = 0; i < count; i++) {
    const digest = digests + i * DIGEST_BYTES;
    const sinceOrigin = nowUs - peekF64(digest + DIGEST_originUs);
    const instant = round(sinceOrigin * peekF64(digest + DIGEST_ticksPerMicro));
    if (!(instant <= last)) {
      refuseTick(instant);
      return AGED;
    }
    const now = (instant < -FURTHEST ? -FURTHEST : instant) as i64;
    const cap = peek64(digest + DIGEST_capTicks);
    const perToken = peek64(digest + DIGEST_ticksPerToken);
    const cost = few ? whole * perToken : ticksUp(tokens, perToken as f64);
    const zeroTime = floored(peek64(zeroTimeAt(slot, i)), now, cap);
    const next = zeroTime + cost;
    // A floored zero-time is at most the burst back, so this covers a cost above the burst.
    if (next > now) {
      readDigest(digest);
      const most = isCharge ? MAX_SPAN_TICKS : cap;
      const wait = decision(zeroTime, now, most, cost, ticksOfWait(maxWaitUs), 0, 0);
      if (wait < 0) refusal = min(refusal, wait);
      else if (wait > 0) longest = max(longest, wait / ticksPerMicro);
    }
    costs |= cost;
    writeI64(zeroTimeAt(into, i), next);
  }
  isFree = costs == 0;
  return refusal < 0 ? refusal : longest;
}

export function acquire(cell: usize, count: i32, nowUs: f64, tokens: f64, maxWaitUs: f64): f64 {
  return begin(cell, count)
    ? end(take(cell, count, nowUs, tokens, maxWaitUs, false, false))
    : failed;
}

/** Takes tokens without a maximum, even more than the bucket can hold; LATER beyond 4.4 years. */
export function charge(cell: usize, count: i32, nowUs: f64, tokens: f64): f64 {
  return begin(cell, count) ? end(take(cell, count, nowUs, tokens, Infinity, true, false)) : failed;
}

/** Like `acquire` without a wait; reports the state of every limit. */
export function decide(cell: usize, count: i32, nowUs: f64, tokens: f64): f64 {
  return begin(cell, count) ? end(take(cell, count, nowUs, tokens, 0, false, true)) : failed;
}

function take(
  cell: usize,
  count: i32,
  nowUs: f64,
  tokens: f64,
  maxWaitUs: f64,
  isCharge: bool,
  reports: bool,
): f64 {
  // Runs once, and again for each record that goes live during the call.
  while (true) {
    if (!isLearnt(cell) && !learnAll(cell, count, nowUs)) return failed;
    // A guess, as in bucket/take.ts.
    let word = knownWord;
    let guessed = true;
    while (isLearnt(cell) && isKnown(cell, word)) {
      const wait = survey(cell, count, word, nowUs, tokens, maxWaitUs, isCharge);
      if (wait == AGED) {
        if (!rejuvenate(cell, count, word, nowUs)) return failed;
        word = load64(cell + CELL_word);
        guessed = false;
        continue;
      }
      if (reports) reportAll(cell, count, word, nowUs, tokens, wait == 0);
      const before = peek64(slotAt(cell, count, slotOf(word)) + SLOT_mark);
      if (wait < 0 || isFree) {
        // Nothing is published. If the word is unchanged, the answer is linearized at this load.
        const again = load64(cell + CELL_word);
        if (again == word) {
          remember(word, nowUs);
          leaveWord(before);
          leaveCost(before);
          return wait;
        }
        word = again;
        guessed = false;
        continue;
      }
      if (wait > 0 && !isCharge) promiseAll(cell, count, word);
      const next = wordAfter(word, spare, recordOf(word));
      writeI64(spareAt + SLOT_mark, next);
      const seen = exchangeWord(cell, count, word, next);
      if (seen == word) {
        remember(next, nowUs);
        leaveWord(next);
        leaveCost(before);
        return wait;
      }
      // A guess is as old as this thread's last call, so only a recent one can have lost a race.
      if (!guessed || nowUs - knownUs < AT_ONCE_US) loseRace();
      guessed = false;
      word = seen;
    }
    forget();
  }
}

/** Reports the state of every limit after a decision on a word. */
function reportAll(
  cell: usize,
  count: i32,
  word: i64,
  nowUs: f64,
  tokens: f64,
  isAdmitted: bool,
): void {
  const slot = slotAt(cell, count, slotOf(word));
  const digests = digestsAt(cell, count, recordOf(word));
  for (let i = 0; i < count; i++) {
    readDigest(digests + i * DIGEST_BYTES);
    const now = nearestTick(nowUs) as i64;
    const cost = costOf(tokens);
    const held = now - floored(peek64(zeroTimeAt(slot, i)), now, capTicks);
    reportOutcome(i, nowUs, (isAdmitted ? held - cost : held) as f64, cost as f64, isAdmitted);
  }
}

/** Reports the indices of the tokens that the admission in the spare slot waits for. */
function promiseAll(cell: usize, count: i32, word: i64): void {
  for (let i = 0; i < count; i++) {
    readLimit(recordAt(blockAt(cell, i), recordOf(word)));
    findIndex(readI64(zeroTimeAt(spareAt, i)));
    promise(i, indexLow(), indexHigh(), fractionLow(), fractionHigh());
  }
}
