import { LATER, NEVER } from './constants';

// What a bucket decides, with neither clock nor memory. Times and costs are in ticks.

/** The zero-time from which to count: idling for longer than a full bucket takes adds nothing. */
// @ts-ignore: a decorator of AssemblyScript's
@inline
export function floored(zeroTime: i64, now: i64, cap: i64): i64 {
  return max(zeroTime, now - cap);
}

/**
 * The wait for `cost` from a floored zero-time: 0 is now. LATER if it exceeds `maxWait`, NEVER if the
 * bucket cannot hold so much. Tokens of a quantum bucket arrive with its next fills; `sinceFill` is
 * the time since the last one.
 */
// @ts-ignore: a decorator of AssemblyScript's
@inline
export function decision(
  zeroTime: i64,
  now: i64,
  cap: i64,
  cost: i64,
  maxWait: f64,
  fillTicks: f64,
  sinceFill: f64,
): f64 {
  if (cost == 0) return 0;
  if (cost > cap) return NEVER;
  const due = (zeroTime + cost - now) as f64;
  const wait = fillTicks != 0 && due > 0 ? ceil(due / fillTicks) * fillTicks - sinceFill : due;
  return wait > maxWait ? LATER : max<f64>(wait, 0);
}

/** The whole tokens, at most `most`, in a bucket that holds `held`. */
export function wholeTokens(held: i64, ticksPerToken: f64, most: f64): f64 {
  return max<f64>(min(most, (held / (ticksPerToken as i64)) as f64), 0);
}
