import { add32, and32, exchange32, load32, load64, store32, writeF64, writeI64 } from './accesses';
import { round, ticksUp } from './arithmetic';
import {
  BUCKET_claims,
  BUCKET_sequence,
  CELL_word,
  INDEX_MASK,
  MAX_ORIGIN_TICKS,
  ORIGIN_PLACES,
  ORIGIN_STEP_US,
  RECORD_burst,
  RECORD_capTicks,
  RECORD_COUNT,
  RECORD_fillTicks,
  RECORD_generation,
  RECORD_originUs,
  RECORD_rate,
  RECORD_tenure,
  RECORD_ticksPerMicro,
  RECORD_ticksPerToken,
  SAME_INTERVAL,
} from './constants';
import { fillAt, fillTicks, nearestTick, originUs, ticksPerMicro } from './limit';
import { recordAt } from './record';

// The configuration record that goes live next.

let newRate: f64 = 0;
let newBurst: f64 = 0;
export let newTicksPerToken: f64 = 0;
let newTicksPerMicro: f64 = 0;
export let newCapTicks: i64 = 0;
let newFillTicks: f64 = 0;
export let newOriginUs: f64 = 0;

/** Sets the limit of the new record. */
export function newLimit(rate: f64, most: f64, perToken: f64, perMicro: f64, fill: f64): void {
  newRate = rate;
  newBurst = most;
  newTicksPerToken = perToken;
  newTicksPerMicro = perMicro;
  newCapTicks = ticksUp(most, perToken);
  newFillTicks = fill;
}

/** The tick from which a bucket counts at an instant under the new record. */
export function newTick(nowUs: f64): i64 {
  const tick = round((nowUs - newOriginUs) * newTicksPerMicro);
  return (newFillTicks == 0 ? tick : floor(tick / newFillTicks) * newFillTicks) as i64;
}

export const NONE = -1;

/** Claims the next free record after the live one, so that a freed record is reused late. */
export function claimRecord(cell: usize, attempts: i32): i32 {
  for (let attempt = 0; attempt < attempts; attempt++) {
    const claims = load32(cell + BUCKET_claims);
    const live = (load64(cell + CELL_word) & INDEX_MASK) as i32;
    for (let step = 1; step < RECORD_COUNT; step++) {
      const index = (live + step) & INDEX_MASK;
      const bit = 1 << index;
      if ((claims & bit) != 0) continue;
      if (exchange32(cell + BUCKET_claims, claims, claims | bit) == claims) return index;
      break;
    }
  }
  return NONE;
}

export function releaseRecord(cell: usize, index: i32): void {
  and32(cell + BUCKET_claims, ~(1 << index));
}

/** The next generation of a cell, never 0. */
export function nextGeneration(cell: usize): i32 {
  while (true) {
    const generation = (add32(cell + BUCKET_sequence, 1) + 1) & 0x7fffffff;
    if (generation != 0) return generation;
  }
}

/** The instant of a fill under the new record: the grid continues if the interval is the same. */
export function gridOf(nowUs: f64): f64 {
  const before = fillTicks / ticksPerMicro;
  const after = newFillTicks / newTicksPerMicro;
  if (after == 0 || abs(after - before) > before * SAME_INTERVAL) return nowUs;
  return originUs + fillAt(nearestTick(nowUs)) / ticksPerMicro;
}

/** The origin of the new record, different for successive generations. */
function originOf(gridUs: f64, generation: i32): f64 {
  if (newFillTicks == 0) return (gridUs - (generation % ORIGIN_PLACES) * ORIGIN_STEP_US) as f64;
  const places = min(ORIGIN_PLACES as f64, max(1, floor((MAX_ORIGIN_TICKS as f64) / newFillTicks)));
  return gridUs - ((generation % (places as i32)) as f64) * (newFillTicks / newTicksPerMicro);
}

/** Places the origin shortly before `gridUs`: now, or a fill of the previous limit. */
export function placeOrigin(gridUs: f64, generation: i32): void {
  newOriginUs = originOf(gridUs, generation);
}

/** Fills a claimed record. The generation is written last: 0 means "being written". */
export function writeRecord(cell: usize, index: i32, generation: i32): void {
  const at = recordAt(cell, index);
  store32(at + RECORD_generation, 0);
  writeF64(at + RECORD_rate, newRate);
  writeF64(at + RECORD_burst, newBurst);
  writeF64(at + RECORD_ticksPerToken, newTicksPerToken);
  writeF64(at + RECORD_ticksPerMicro, newTicksPerMicro);
  writeI64(at + RECORD_capTicks, newCapTicks);
  writeF64(at + RECORD_fillTicks, newFillTicks);
  writeF64(at + RECORD_originUs, newOriginUs);
  store32(at + RECORD_tenure, generation);
  store32(at + RECORD_generation, generation);
}
