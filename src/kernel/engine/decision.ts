import { LATER, NEVER } from './constants';

// A bucket's decisions as pure functions, without clock or memory. Times and costs are in ticks.

/** The zero-time, raised to the floor: a full bucket gains nothing by more idling. */
export function floored(zeroTime: i64, now: i64, cap: i64): i64 {
  return max(zeroTime, now - cap);
}

/**
 * The wait for `cost` from a floored zero-time: 0 for now, LATER above `maxWait`, NEVER above
 * `cap`. A quantum bucket waits for a fill; `sinceFill` is the time since the last one.
 */
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

/** The number of whole tokens in `held` ticks, at most `most`. */
export function wholeTokens(held: i64, ticksPerToken: f64, most: f64): f64 {
  return max<f64>(min(most, (held / (ticksPerToken as i64)) as f64), 0);
}
