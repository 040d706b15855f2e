import { HandleError } from '../../errors.ts';
import type { CellPlace } from '../../memory/cell.ts';
import {
  BUCKET,
  CELL,
  INDEX_BITS,
  RECORD,
  RECORD_COUNT,
  recordOffset,
} from '../../memory/layout.ts';
import { isSound, type Schedule } from './schedule.ts';
import { MAX_ORIGIN_TICKS, ORIGIN_PLACES, ORIGIN_STEP_US } from './ticks.ts';

/** A configuration record: a schedule, and the clock's instant from which the word counts ticks. */
export interface ConfigRecord {
  /** Different for every record that a cell ever had; 0 while the record is being written. */
  readonly generation: number;
  readonly schedule: Schedule;
  readonly originUs: number;
}

/** One that was read from its place. */
export interface PlacedRecord extends ConfigRecord {
  readonly index: number;
}

/**
 * How long before the instant of its change the origin of a record lies. It depends on the
 * generation, so that the same word hardly ever comes back under another record of the same index: a
 * compare-and-exchange that expects the word then also expects the record.
 */
export function offsetOf({ fillTicks, ticksPerMicro }: Schedule, generation: number): number {
  if (fillTicks === 0) return (generation % ORIGIN_PLACES) * ORIGIN_STEP_US;
  const places = Math.min(ORIGIN_PLACES, Math.max(1, Math.floor(MAX_ORIGIN_TICKS / fillTicks)));
  return (generation % places) * (fillTicks / ticksPerMicro);
}

/**
 * `nowUs` in whole ticks since the origin; the last fill at or before it for a quantum bucket.
 *
 * @throws HandleError `ERR_REGION_DAMAGED` if there is no such number
 */
export function ticksAt(schedule: Schedule, originUs: number, nowUs: number): number {
  const ticks = Math.round((nowUs - originUs) * schedule.ticksPerMicro);
  if (!Number.isFinite(ticks)) {
    throw new HandleError('ERR_REGION_DAMAGED', "the clock or the limiter's origin makes no sense");
  }
  const { fillTicks } = schedule;
  return fillTicks === 0 ? ticks : Math.floor(ticks / fillTicks) * fillTicks;
}

/** Ticks as tokens: never more than the burst, which is rounded up to ticks. */
export function tokensOf({ ticksPerToken, burst }: Schedule, ticks: number): number {
  return ticksPerToken === 0 ? Number.POSITIVE_INFINITY : Math.min(burst, ticks / ticksPerToken);
}

/** Microseconds until a bucket that holds `held` ticks holds `wanted`. */
export function untilHeld(
  record: ConfigRecord,
  nowUs: number,
  held: number,
  wanted: number,
): number {
  const { schedule, originUs } = record;
  if (wanted <= held || schedule.ticksPerToken === 0) return 0;
  if (wanted > Number(schedule.capTicks)) return Number.POSITIVE_INFINITY;
  const { ticksPerMicro, fillTicks } = schedule;
  const missing = wanted - held;
  if (fillTicks === 0) return missing / ticksPerMicro;
  const fillAt = ticksAt(schedule, originUs, nowUs) + Math.ceil(missing / fillTicks) * fillTicks;
  return fillAt / ticksPerMicro - (nowUs - originUs);
}

/** Reads a record, or undefined if it is being written or makes no sense. */
function readRecord(place: CellPlace, index: number): PlacedRecord | undefined {
  const { i32, i64, f64 } = place.region;
  const at = recordOffset(place.offset, index);
  const float = (field: number) => f64[(at + field) >> 3] ?? Number.NaN;
  const generation = Atomics.load(i32, (at + RECORD.generation) >> 2);
  const schedule: Schedule = {
    rate: float(RECORD.rate),
    burst: float(RECORD.burst),
    ticksPerToken: float(RECORD.ticksPerToken),
    ticksPerMicro: float(RECORD.ticksPerMicro),
    capTicks: i64[(at + RECORD.capTicks) >> 3] ?? 0n,
    fillTicks: float(RECORD.fillTicks),
  };
  const originUs = float(RECORD.originUs);
  const settled = Atomics.load(i32, (at + RECORD.generation) >> 2) === generation;
  if (generation === 0 || !settled || !isSound(schedule) || !Number.isFinite(originUs)) {
    return undefined;
  }
  return { generation, schedule, originUs, index };
}

/** The word, and the record that it names. */
export interface LiveRecord extends PlacedRecord {
  readonly word: bigint;
}

/**
 * Reads the live record. One that cannot be read was freed and taken again since the word was
 * loaded, so the word has changed; if it has not, something else wrote over the cell.
 *
 * @throws HandleError `ERR_REGION_DAMAGED`
 */
export function liveRecord(place: CellPlace): LiveRecord {
  const at = (place.offset + CELL.word) >> 3;
  for (;;) {
    const word = Atomics.load(place.region.i64, at);
    const index = Number(BigInt.asUintN(INDEX_BITS, word));
    const record = readRecord(place, index);
    if (record !== undefined) return { ...record, word };
    if (Atomics.load(place.region.i64, at) === word) {
      throw new HandleError('ERR_REGION_DAMAGED', "the limiter's configuration makes no sense");
    }
  }
}

/** The record of a generation, if its place was not used again. */
export function recordOf(place: CellPlace, generation: number): PlacedRecord | undefined {
  for (let index = 0; index < RECORD_COUNT; index++) {
    const at = (recordOffset(place.offset, index) + RECORD.generation) >> 2;
    if (Atomics.load(place.region.i32, at) !== generation) continue;
    const record = readRecord(place, index);
    return record?.generation === generation ? record : undefined;
  }
  return undefined;
}

/** The generation of the record whose place this one took; undefined if this one's was used again. */
export function generationBefore(
  { region, offset }: CellPlace,
  { index, generation }: PlacedRecord,
): number | undefined {
  const before = Atomics.load(region.i32, (offset + BUCKET.before + 4 * index) >> 2);
  // It is written only after the generation, so it was this record's if that still stands.
  const at = (recordOffset(offset, index) + RECORD.generation) >> 2;
  return Atomics.load(region.i32, at) === generation ? before : undefined;
}
