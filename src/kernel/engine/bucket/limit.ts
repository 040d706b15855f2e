import { readF64, readI64 } from '../accesses';
import { fractionOf, highOf, isWhole, MAX_SAFE, partOf, round, ticksUp } from '../arithmetic';
import {
  MAX_SPAN_TICKS,
  RECORD_arrived,
  RECORD_arrivedFraction,
  RECORD_burst,
  RECORD_fillTicks,
  RECORD_originUs,
  RECORD_pace,
  RECORD_ticksPerToken,
  TICKS_PER_MICRO,
} from '../constants';

// The limit of this call, read from a configuration record, and its arithmetic.

/** Tokens per second; in a quantum bucket, the microseconds from one fill to the next. */
export let pace: f64 = 0;
export let burst: f64 = 0;
export let ticksPerToken: f64 = 0;
export let ticksPerMicro: f64 = 0;
export let capTicks: i64 = 0;
export let fillTicks: f64 = 0;
export let originUs: f64 = 0;
/** The token index at the origin, and its fraction in units of 2^-64: see below. */
export let arrived: i64 = 0;
export let arrivedFraction: u64 = 0;

/** Ticks further from 0 than this do not fit into a word. */
const FURTHEST: f64 = 4 * (MAX_SPAN_TICKS as f64);

/** Reads the limit of a record; false if its numbers are invalid. */
export function readLimit(record: usize): bool {
  return fetchLimit(record);
}

/** {@link readLimit}, compiled into its caller. */
export function fetchLimit(record: usize): bool {
  pace = readF64(record + RECORD_pace);
  burst = readF64(record + RECORD_burst);
  ticksPerToken = readF64(record + RECORD_ticksPerToken);
  fillTicks = readF64(record + RECORD_fillTicks);
  originUs = readF64(record + RECORD_originUs);
  arrived = readI64(record + RECORD_arrived);
  arrivedFraction = readI64(record + RECORD_arrivedFraction);
  if (!(pace >= 0 && burst > 0 && isWhole(ticksPerToken) && isWhole(fillTicks))) return false;
  ticksPerMicro = speedOf(pace, ticksPerToken, fillTicks);
  capTicks = costOf(burst);
  return (
    // The clock of a paused bucket stands still.
    ticksPerMicro > 0 != (pace == 0) &&
    ticksPerMicro <= 2 * TICKS_PER_MICRO &&
    (capTicks as u64) <= (MAX_SPAN_TICKS as u64)
  );
}

/** Sets the limit of a table. */
export function setLimit(
  most: f64,
  perToken: f64,
  perMicro: f64,
  fill: f64,
  cap: i64,
  origin: f64,
): void {
  burst = most;
  ticksPerToken = perToken;
  ticksPerMicro = perMicro;
  fillTicks = fill;
  capTicks = cap;
  originUs = origin;
}

let keptBurst: f64 = 0;
let keptTicksPerToken: f64 = 0;
let keptTicksPerMicro: f64 = 0;
let keptCapTicks: i64 = 0;
let keptFillTicks: f64 = 0;
let keptOriginUs: f64 = 0;
let keptArrived: i64 = 0;
let keptArrivedFraction: u64 = 0;

/** Keeps the limit read, while others are read: memory may have been damaged since. */
export function keepLimit(): void {
  keptBurst = burst;
  keptTicksPerToken = ticksPerToken;
  keptTicksPerMicro = ticksPerMicro;
  keptCapTicks = capTicks;
  keptFillTicks = fillTicks;
  keptOriginUs = originUs;
  keptArrived = arrived;
  keptArrivedFraction = arrivedFraction;
}

/** Sets the limit that was kept. */
export function useKept(): void {
  setLimit(
    keptBurst,
    keptTicksPerToken,
    keptTicksPerMicro,
    keptFillTicks,
    keptCapTicks,
    keptOriginUs,
  );
  arrived = keptArrived;
  arrivedFraction = keptArrivedFraction;
}

/** Ticks per microsecond. */
export function speedOf(pace: f64, perToken: f64, fill: f64): f64 {
  if (fill != 0) return fill / pace;
  return perToken == 0 ? TICKS_PER_MICRO : (perToken * pace) / 1e6;
}

/** The tick nearest to a clock instant; NaN if invalid. Clamped in the far past. */
export function nearestTick(nowUs: f64): f64 {
  const tick = round((nowUs - originUs) * ticksPerMicro);
  return tick < -FURTHEST ? -FURTHEST : tick;
}

/** The tick up to which a bucket's tokens have arrived at an instant. Clamped in the far future. */
export function countedTick(nowUs: f64): i64 {
  return min(fillAt(nearestTick(nowUs)), FURTHEST) as i64;
}

/** The tick up to which a bucket's tokens have arrived: a quantum bucket's last fill. */
export function fillAt(tick: f64): f64 {
  return fillTicks == 0 ? tick : floor(tick / fillTicks) * fillTicks;
}

/** The longest wait in ticks. The clock of a paused bucket stands still. */
export function ticksOfWait(maxWaitUs: f64): f64 {
  if (maxWaitUs == 0) return 0;
  const most = MAX_SPAN_TICKS as f64;
  return maxWaitUs == Infinity ? most : min(round(maxWaitUs * ticksPerMicro), most);
}

/** The cost of tokens in ticks, rounded up so that no fraction of a tick is free. */
export function costOf(tokens: f64): i64 {
  const ticks = tokens * ticksPerToken;
  return ticks <= MAX_SAFE ? (ceil(ticks) as i64) : ticksUp(tokens, ticksPerToken);
}

/** Ticks as tokens, at most the burst, because that was rounded up to ticks. */
export function tokensOf(ticks: f64): f64 {
  return ticksPerToken == 0 ? Infinity : min(burst, ticks / ticksPerToken);
}

/** Microseconds from `nowUs` until a bucket that holds `held` ticks holds `wanted`. */
export function untilHeld(nowUs: f64, held: f64, wanted: f64): f64 {
  if (wanted <= held || ticksPerToken == 0) return 0;
  if (wanted > (capTicks as f64)) return Infinity;
  const missing = wanted - held;
  if (fillTicks == 0) return missing / ticksPerMicro;
  const filledAt = fillAt(nearestTick(nowUs)) + ceil(missing / fillTicks) * fillTicks;
  return filledAt / ticksPerMicro - (nowUs - originUs);
}

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
