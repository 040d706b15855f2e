import { MAX_SPAN_TICKS } from './constants';

/** Doubles up to this value are exact integers. */
export const MAX_SAFE: f64 = 9007199254740991;

/** Like `Math.round`: halves round up. */
export function round(value: f64): f64 {
  const up = ceil(value);
  return up - 0.5 > value ? up - 1 : up;
}

export function isWhole(value: f64): bool {
  return value >= 0 && value <= MAX_SAFE && floor(value) == value;
}

// A product of 128 bits.
let high: u64 = 0;
let low: u64 = 0;

/** Multiplies by 32-bit halves. */
function multiply(a: u64, b: u64): void {
  const bottom: u64 = (a & 0xffffffff) * (b & 0xffffffff);
  const middle: u64 = (a >> 32) * (b & 0xffffffff) + (bottom >> 32);
  const cross: u64 = (a & 0xffffffff) * (b >> 32) + (middle & 0xffffffff);
  high = (a >> 32) * (b >> 32) + (middle >> 32) + (cross >> 32);
  low = (cross << 32) | (bottom & 0xffffffff);
}

/** The remainder of the last division. */
let remainder: u64 = 0;

/** Divides 128 bits; `top` < divisor < 2^53. */
function divide(top: u64, bottom: u64, divisor: u64): u64 {
  let rest = bottom;
  let quotient: u64 = 0;
  // Long division: the remainder stays below 2^53, so it never overflows.
  remainder = top;
  for (let bit = 0; bit < 64; bit++) {
    remainder = (remainder << 1) | (rest >> 63);
    rest <<= 1;
    quotient <<= 1;
    if (remainder >= divisor) {
      remainder -= divisor;
      quotient |= 1;
    }
  }
  return quotient;
}

/** a * b / c, rounded down and clamped to [-most, most]. 0 <= b < 2^53 and 1 <= c < 2^53. */
export function scale(a: i64, b: i64, c: i64, most: i64): i64 {
  multiply(a < 0 ? -a : a, b);
  if (high >= (c as u64)) return a < 0 ? -most : most;
  const quotient = divide(high, low, c);
  if (quotient >= (most as u64)) return a < 0 ? -most : most;
  return a < 0 ? -(quotient as i64) - i64(remainder != 0) : (quotient as i64);
}

/** part / whole in units of 2^-64, rounded down. 0 <= part < whole < 2^53. */
export function fractionOf(part: i64, whole: i64): u64 {
  return divide(part, 0, whole);
}

/** Fewer units of 2^-64 than this are a rounding error of {@link fractionOf}. */
const ROUNDING: u64 = 1 << 56;

/** fraction / 2^64 * whole, rounded up unless the rest is a rounding error of the fraction. */
export function partOf(fraction: u64, whole: i64): i64 {
  multiply(fraction, whole);
  return (high as i64) + i64(low > ROUNDING);
}

/** More ticks than any bucket can hold. */
const TOO_MANY: i64 = 2 * MAX_SPAN_TICKS;

/** Tokens in ticks, rounded up: exact for whole tokens. Infinite `tokens` are valid if free. */
export function ticksUp(tokens: f64, ticksPerToken: f64): i64 {
  if (ticksPerToken == 0) return 0;
  const ticks = tokens * ticksPerToken;
  if (ticks <= MAX_SAFE) return ceil(ticks) as i64;
  if (ticks >= (TOO_MANY as f64)) return TOO_MANY;
  const whole = floor(tokens);
  return (whole as i64) * (ticksPerToken as i64) + (ceil((tokens - whole) * ticksPerToken) as i64);
}

/** Tokens in ticks, rounded down: exact for whole tokens. */
export function ticksDown(tokens: f64, ticksPerToken: f64): i64 {
  const ticks = tokens * ticksPerToken;
  if (ticks <= MAX_SAFE) return floor(ticks) as i64;
  if (ticks >= (TOO_MANY as f64)) return TOO_MANY;
  const whole = floor(tokens);
  return (whole as i64) * (ticksPerToken as i64) + (floor((tokens - whole) * ticksPerToken) as i64);
}

// Words are passed to the host in halves: an i64 would be a BigInt there, which must be allocated.

export function joined(low: i32, high: i32): i64 {
  return ((high as i64) << 32) | (low as u32 as i64);
}

export function highOf(word: i64): i32 {
  return (word >> 32) as i32;
}

// Instants at which buckets are full: in whole units, so that they can be compared.

const UNITS_PER_MICRO: f64 = 16;
const FURTHEST_UNITS: f64 = 4611686018427387904;

/** An instant in units, rounded down. */
export function unitsBefore(us: f64): i64 {
  const units = floor(us * UNITS_PER_MICRO);
  return (units > -FURTHEST_UNITS ? min(units, FURTHEST_UNITS) : -FURTHEST_UNITS) as i64;
}

/** An instant in units, rounded up. */
export function unitsAfter(us: f64): i64 {
  return -unitsBefore(-us);
}

export function usOfUnits(units: i64): f64 {
  return (units as f64) / UNITS_PER_MICRO;
}
