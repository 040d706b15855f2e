import { readF64, readI64 } from '../accesses';
import {
  fractionOf,
  highOf,
  isWhole,
  MAX_SAFE,
  partOf,
  round,
  scale,
  ticksUp,
} from '../arithmetic';
import { putF64, putI64 } from '../claim';
import {
  MAX_ORIGIN_TICKS,
  MAX_SPAN_TICKS,
  ORIGIN_PLACES,
  ORIGIN_STEP_US,
  RECORD_arrived,
  RECORD_arrivedFraction,
  RECORD_burst,
  RECORD_fillTicks,
  RECORD_originUs,
  RECORD_pace,
  RECORD_ticksPerToken,
  SAME_INTERVAL,
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

/** The instant of the tick at which a token is due under the limit read; Infinity if paused. */
export function dueAt(token: i64, zeroTime: i64): f64 {
  // All tokens are due when the whole debt is paid, which takes at most 4.4 years.
  const tick = min(token, zeroTime) as f64;
  if (ticksPerMicro == 0) return tick > 0 ? Infinity : originUs;
  const fill = fillTicks == 0 ? tick : ceil(tick / fillTicks) * fillTicks;
  return originUs + fill / ticksPerMicro;
}

let epoch: i32 = 0;
let liveSince: f64 = 0;

export function leaveLive(live: i32, sinceUs: f64): void {
  epoch = live;
  liveSince = sinceUs;
}

/** The epoch of the live record, and the instant at which it went live. */
export function liveEpoch(): i32 {
  return epoch;
}

export function liveSinceUs(): f64 {
  return liveSince;
}

// The configuration record that goes live next.

export let newPace: f64 = 0;
export let newBurst: f64 = 0;
export let newTicksPerToken: f64 = 0;
export let newTicksPerMicro: f64 = 0;
export let newCapTicks: i64 = 0;
export let newFillTicks: f64 = 0;
export let newOriginUs: f64 = 0;

/** Sets the limit of the new record. */
export function newLimit(pace: f64, most: f64, perToken: f64, fill: f64): void {
  newPace = pace;
  newBurst = most;
  newTicksPerToken = perToken;
  newTicksPerMicro = speedOf(pace, perToken, fill);
  newCapTicks = ticksUp(most, perToken);
  newFillTicks = fill;
}

/** The tokens in `held` ticks of the limit read, in ticks of the new one, and up to its burst. */
export function keptTicks(held: i64): i64 {
  // An unlimited bucket is always full.
  if (ticksPerToken == 0) return newCapTicks;
  const most = 2 * MAX_SPAN_TICKS;
  const kept = scale(min(capTicks, held), newTicksPerToken as i64, ticksPerToken as i64, most);
  return min(newCapTicks, kept);
}

/** The tick up to which a bucket's tokens have arrived at an instant, under the new record. */
export function newTick(nowUs: f64): i64 {
  const tick = round((nowUs - newOriginUs) * newTicksPerMicro);
  return (newFillTicks == 0 ? tick : floor(tick / newFillTicks) * newFillTicks) as i64;
}

/** The instant of a fill under the new record. If the interval is the same, the grid continues. */
export function gridOf(nowUs: f64): f64 {
  if (newFillTicks == 0 || fillTicks == 0) return nowUs;
  const before = fillTicks / ticksPerMicro;
  const after = newFillTicks / newTicksPerMicro;
  if (abs(after - before) > before * SAME_INTERVAL) return nowUs;
  return originUs + fillAt(nearestTick(nowUs)) / ticksPerMicro;
}

/**
 * How far a record's origin is before the instant at which it went live. Successive epochs
 * differ, so that a word rarely recurs under another record of the same index.
 */
export function originOffsetUs(fill: f64, perMicro: f64, epoch: i32): f64 {
  if (fill == 0) return (epoch % ORIGIN_PLACES) * ORIGIN_STEP_US;
  const places = min(ORIGIN_PLACES as f64, max(1, floor((MAX_ORIGIN_TICKS as f64) / fill)));
  return ((epoch % (places as i32)) as f64) * (fill / perMicro);
}

/** Keeps the origin of the limit read. */
export function keepOrigin(): void {
  newOriginUs = originUs;
}

/** Places the origin shortly before `gridUs`: now, or a fill of the previous limit. */
export function placeOrigin(gridUs: f64, epoch: i32): void {
  newOriginUs = gridUs - originOffsetUs(newFillTicks, newTicksPerMicro, epoch);
}

/** Computes the token index at the origin of the new record, for a change at an instant. */
export function carryIndex(nowUs: f64, returned: i64): void {
  findIndex(countedTick(nowUs) + returned);
  // All tokens that an unlimited bucket owes arrive at once.
  if (newTicksPerToken == 0 && ticksPerToken != 0)
    addTokens(MAX_SPAN_TICKS / (ticksPerToken as i64));
  moveToOrigin(newTick(nowUs), newTicksPerToken);
}

/** Writes the new limit and the token index at its origin. */
export function writeLimit(at: usize): void {
  putF64(at + RECORD_pace, newPace);
  putF64(at + RECORD_burst, newBurst);
  putF64(at + RECORD_ticksPerToken, newTicksPerToken);
  putF64(at + RECORD_fillTicks, newFillTicks);
  putF64(at + RECORD_originUs, newOriginUs);
  putI64(at + RECORD_arrived, index);
  putI64(at + RECORD_arrivedFraction, indexFraction);
}
