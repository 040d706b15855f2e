import { round } from '../arithmetic';
import { LATER, MAX_SPAN_TICKS, NO_PLACE } from '../constants';
import { begin, withoutPlace } from '.';
import { ANY, chargeKey, heldTicks, look, seenState } from './charge';
import { instantUs, longestWait, sinceFill } from './state';
import { costOf, fillAt, fillTicks, ticksPerMicro, ticksPerToken } from '../bucket/limit';

// Puts a key's bucket into debt. An entry in debt is never reclaimed.

/** Takes tokens without a maximum, even more than a bucket holds; LATER beyond 4.4 years. */
export function charge(high: u32, low: u32, nowUs: f64, tokens: f64): f64 {
  begin(high, low, nowUs);
  const cost = costOf(tokens);
  if (cost == 0) return 0;
  const wait = chargeKey(cost, longestWait(), ANY, MAX_SPAN_TICKS);
  if (wait > 0) return wait / ticksPerMicro + (instantUs - nowUs);
  if (wait != NO_PLACE) return wait;
  return withoutPlace() == NO_PLACE ? NO_PLACE : 0;
}

/**
 * Empties a key's bucket for `us` microseconds, at most 4.4 years; a quantum bucket stays empty
 * until the next fill after that. A longer debt stays. Returns 0, NO_PLACE or DAMAGED.
 */
export function block(high: u32, low: u32, nowUs: f64, us: f64): f64 {
  begin(high, low, nowUs);
  if (ticksPerToken == 0) return 0;
  const longest = longestWait();
  const span = sinceFill + round(us * ticksPerMicro);
  const ticks = fillAt(min(fillTicks == 0 ? span : span - 1, longest)) as i64;
  while (look()) {
    const cost = ticks + heldTicks;
    if (cost <= 0) return 0;
    // Only from the state seen, so that a debt added by another thread is not added to this.
    const wait = chargeKey(cost, longest, seenState, MAX_SPAN_TICKS);
    if (wait != LATER) return min<f64>(wait, 0);
  }
  return NO_PLACE;
}
