import { exchange64 } from '../accesses';
import { ticksDown } from '../arithmetic';
import { begin, held, nowTicks, settle, settled } from './instant';
import { acquire, wordOf } from './take';
import { BUSY, CELL_word, SUPERSEDED } from '../constants';
import { wholeTokens } from '../decision';
import { capTicks, costOf, ticksPerToken, tokensOf, untilHeld } from './limit';
import { bringForward } from './reconfigure';
import { failed, loseRace } from '../results';

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
    loseRace();
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
