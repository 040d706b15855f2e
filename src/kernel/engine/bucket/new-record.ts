import { add32, store32, writeF64, writeI64 } from '../accesses';
import { round, ticksUp } from '../arithmetic';
import {
  BUCKET_limits,
  BUCKET_sequence,
  MAX_ORIGIN_TICKS,
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
import { fillAt, fillTicks, nearestTick, originUs, speedOf, ticksPerMicro } from './limit';
import { recordAt } from './record';
import { index, indexFraction } from './token-index';

// The configuration record that goes live next.

export let newPace: f64 = 0;
export let newBurst: f64 = 0;
export let newTicksPerToken: f64 = 0;
export let newTicksPerMicro: f64 = 0;
export let newCapTicks: i64 = 0;
let newFillTicks: f64 = 0;
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

/**
 * Fills a claimed record, after the token index at its origin was computed. `limit` is the
 * generation with which its limit came into force. The generation is written last: 0 means "being
 * written".
 */
export function writeRecord(cell: usize, place: i32, generation: i32, limit: i32): void {
  const at = recordAt(cell, place);
  store32(at + RECORD_generation, 0);
  writeF64(at + RECORD_pace, newPace);
  writeF64(at + RECORD_burst, newBurst);
  writeF64(at + RECORD_ticksPerToken, newTicksPerToken);
  writeF64(at + RECORD_fillTicks, newFillTicks);
  writeF64(at + RECORD_originUs, newOriginUs);
  writeI64(at + RECORD_arrived, index);
  writeI64(at + RECORD_arrivedFraction, indexFraction);
  store32(cell + BUCKET_limits + (place << 2), limit);
  store32(at + RECORD_tenure, generation);
  store32(at + RECORD_generation, generation);
}
