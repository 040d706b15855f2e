import { fractionOf, highOf, partOf } from '../arithmetic';
import { MAX_SPAN_TICKS } from '../constants';
import { arrived, arrivedFraction, ticksPerToken } from './limit';

// Every bucket counts its tokens as they arrive. A reservation keeps the index of its last token,
// which is due when the count reaches it. Each record has the index at its origin, so the live
// record alone determines when a token is due, however often the limit has changed.

/** The last computed index: whole tokens, and a fraction in units of 2^-64. */
export let index: i64 = 0;
export let indexFraction: u64 = 0;

/** The index at the origin of a new bucket. */
export function startIndex(): void {
  index = 0;
  indexFraction = 0;
}

/** Computes the index of the token that arrives, or is due, at a tick. */
export function findIndex(tick: i64): void {
  index = arrived;
  indexFraction = arrivedFraction;
  if (ticksPerToken != 0) move(tick, ticksPerToken as i64);
}

/** Moves the index from a tick back to the origin, at `perToken` ticks a token. */
export function moveToOrigin(tick: i64, perToken: f64): void {
  if (perToken != 0) move(-tick, perToken as i64);
}

function move(ticks: i64, perToken: i64): void {
  const rest = ticks % perToken;
  const part = rest < 0 ? rest + perToken : rest;
  const fraction = indexFraction + fractionOf(part, perToken);
  index += (ticks - part) / perToken + i64(fraction < indexFraction);
  indexFraction = fraction;
}

/** Adds tokens to the index. */
export function addTokens(count: i64): void {
  index += count;
}

/** The tick at which the token with an index is due under the limit read. */
export function tickOf(token: i64, fraction: u64): i64 {
  if (ticksPerToken == 0) return i64.MIN_VALUE;
  const perToken = ticksPerToken as i64;
  const whole = token - arrived - i64(fraction < arrivedFraction);
  // Beyond any bucket's debt, the product could overflow.
  const most = (4 * MAX_SPAN_TICKS) / perToken;
  return max(-most, min(most, whole)) * perToken + partOf(fraction - arrivedFraction, perToken);
}

// The index is passed to the host in four halves.

export function indexLow(): i32 {
  return index as i32;
}

export function indexHigh(): i32 {
  return highOf(index);
}

export function fractionLow(): i32 {
  return indexFraction as i32;
}

export function fractionHigh(): i32 {
  return highOf(indexFraction);
}
