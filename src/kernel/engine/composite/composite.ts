import { peek64, writeI64 } from '../accesses';
import { returnAll, returnedTo } from './change';
import { recordOf, slotAt, slotOf, spare, spareAt, wordAfter, zeroTimeAt } from './slot';
import { begin, end, heldUnder, look, publish } from './snapshot';
import { BUSY, SLOT_mark, SUPERSEDED } from '../constants';
import { wholeTokens } from '../decision';
import { costOf, nearestTick, ticksPerToken, tokensOf, untilHeld } from '../bucket/limit';
import { isStill, knownGeneration } from '../bucket/record';
import { failed, loseRace } from '../results';

// The operations on a bucket with several limits, as specified by TokenKernel. Admissions are in
// composite/take.ts.

export function drain(cell: usize, count: i32, nowUs: f64, tokens: f64): f64 {
  if (!begin(cell, count)) return failed;
  const most = floor(tokens);
  while (true) {
    const word = look(cell, count, nowUs);
    if (word == 0) return end(failed);
    let taken = most;
    let isTaken = false;
    for (let i = 0; i < count; i++) {
      const held = heldUnder(cell, count, word, i, nowUs);
      if (ticksPerToken != 0) taken = min(taken, wholeTokens(held, ticksPerToken, most));
    }
    for (let i = 0; i < count; i++) {
      const held = heldUnder(cell, count, word, i, nowUs);
      const cost = costOf(taken);
      if (cost != 0) isTaken = true;
      writeI64(zeroTimeAt(spareAt, i), (nearestTick(nowUs) as i64) - held + cost);
    }
    if (isTaken) writeI64(spareAt + SLOT_mark, wordAfter(word, spare, recordOf(word)));
    if (isTaken ? publish(cell, count, word) : isStill(cell, word)) return end(taken);
    if (isTaken) loseRace();
  }
}

/** Returns 0, 1 if waiting callers have moved up, or the reason for the failure. */
export function returnTokens(cell: usize, count: i32, nowUs: f64, tokens: f64): f64 {
  if (!begin(cell, count)) return failed;
  let mayMove = true;
  while (true) {
    const word = look(cell, count, nowUs);
    if (word == 0) return end(failed);
    const slot = slotAt(cell, count, slotOf(word));
    let isInDebt = false;
    let isReturned = false;
    for (let i = 0; i < count; i++) {
      const held = heldUnder(cell, count, word, i, nowUs);
      const zeroTime = peek64(zeroTimeAt(slot, i));
      const next = returnedTo(zeroTime, nowUs, tokens);
      if (next != zeroTime) isReturned = true;
      if (next != zeroTime && held < 0) isInDebt = true;
      writeI64(zeroTimeAt(spareAt, i), next);
    }
    if (isInDebt && mayMove) {
      // If the word has changed, the zero-times may belong to two states.
      if (!isStill(cell, word)) continue;
      const outcome = returnAll(cell, count, knownGeneration, nowUs, tokens);
      // If every record is claimed, return the tokens to later callers, and move no one.
      if (outcome == BUSY) mayMove = false;
      else if (outcome != SUPERSEDED) return end(outcome);
    } else if (isReturned ? publish(cell, count, word) : isStill(cell, word)) return end(0);
  }
}

/** The fewest tokens under any limit, negative in debt; NaN after a failure. */
export function balance(cell: usize, count: i32, nowUs: f64): f64 {
  if (!begin(cell, count)) return NaN;
  while (true) {
    const word = look(cell, count, nowUs);
    if (word == 0) return end(NaN);
    let least = Infinity;
    for (let i = 0; i < count; i++) {
      const held = heldUnder(cell, count, word, i, nowUs);
      least = min(least, tokensOf(held as f64));
    }
    if (isStill(cell, word)) return end(least);
  }
}

export function timeUntil(cell: usize, count: i32, nowUs: f64, tokens: f64): f64 {
  if (!begin(cell, count)) return failed;
  while (true) {
    const word = look(cell, count, nowUs);
    if (word == 0) return end(failed);
    let longest: f64 = 0;
    for (let i = 0; i < count; i++) {
      const held = heldUnder(cell, count, word, i, nowUs);
      longest = max(longest, untilHeld(nowUs, held as f64, costOf(tokens) as f64));
    }
    if (isStill(cell, word)) return end(longest);
  }
}
