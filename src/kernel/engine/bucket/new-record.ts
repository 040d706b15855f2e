import { add32, readF64 } from '../accesses';
import { round, scale, ticksUp } from '../arithmetic';
import { put32, putF64, putI64 } from '../claim';
import {
  BUCKET_limits,
  BUCKET_sequence,
  MAX_ORIGIN_TICKS,
  MAX_SPAN_TICKS,
  ORIGIN_PLACES,
  ORIGIN_STEP_US,
  RECORD_arrived,
  RECORD_arrivedFraction,
  RECORD_burst,
  RECORD_fillTicks,
  RECORD_generation,
  RECORD_originUs,
  RECORD_pace,
  RECORD_tenure,
  RECORD_ticksPerToken,
  SAME_INTERVAL,
} from '../constants';
import {
  capTicks,
  countedTick,
  fillAt,
  fillTicks,
  nearestTick,
  originUs,
  speedOf,
  ticksPerMicro,
  ticksPerToken,
} from './limit';
import { recordAt } from './record';
import { addTokens, findIndex, index, indexFraction, moveToOrigin } from './token-index';

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

/** Reads the limit of the new record. */
export function useNew(at: usize): void {
  newLimit(
    readF64(at + RECORD_pace),
    readF64(at + RECORD_burst),
    readF64(at + RECORD_ticksPerToken),
    readF64(at + RECORD_fillTicks),
  );
  newOriginUs = readF64(at + RECORD_originUs);
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

/** The next generation of a cell, never 0. */
export function nextGeneration(cell: usize): i32 {
  while (true) {
    const generation = (add32(cell + BUCKET_sequence, 1) + 1) & 0x7fffffff;
    if (generation != 0) return generation;
  }
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
 * How far a record's origin is before the instant at which it went live. Successive generations
 * differ, so that a word rarely recurs under another record of the same index.
 */
export function originOffsetUs(fill: f64, perMicro: f64, generation: i32): f64 {
  if (fill == 0) return (generation % ORIGIN_PLACES) * ORIGIN_STEP_US;
  const places = min(ORIGIN_PLACES as f64, max(1, floor((MAX_ORIGIN_TICKS as f64) / fill)));
  return ((generation % (places as i32)) as f64) * (fill / perMicro);
}

/** Keeps the origin of the limit read. */
export function keepOrigin(): void {
  newOriginUs = originUs;
}

/** Places the origin shortly before `gridUs`: now, or a fill of the previous limit. */
export function placeOrigin(gridUs: f64, generation: i32): void {
  newOriginUs = gridUs - originOffsetUs(newFillTicks, newTicksPerMicro, generation);
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

/**
 * Fills a claimed record, after the token index at its origin was computed. `limit` is the
 * generation with which its limit came into force. The generation is written last: 0 means "being
 * written".
 */
export function writeRecord(cell: usize, place: i32, generation: i32, limit: i32): void {
  const at = recordAt(cell, place);
  put32(at + RECORD_generation, 0);
  writeLimit(at);
  put32(cell + BUCKET_limits + (place << 2), limit);
  put32(at + RECORD_tenure, generation);
  put32(at + RECORD_generation, generation);
}
