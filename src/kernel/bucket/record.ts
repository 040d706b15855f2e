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
import { MAX_ORIGIN_TICKS, ORIGIN_PLACES, ORIGIN_STEP_US } from '../constants.ts';
import { isSound, type Schedule } from './schedule.ts';

/** A configuration record: a schedule, and the clock instant from which the word counts ticks. */
export interface ConfigRecord {
  /** Different for each record that a cell ever had; 0 while the record is being written. */
  readonly generation: number;
  readonly schedule: Schedule;
  readonly originUs: number;
}

/** A record and its place in the cell. */
export interface PlacedRecord extends ConfigRecord {
  readonly index: number;
}

/**
 * How far a record's origin lies before its change. It varies by generation, so that a word rarely
 * recurs under another record of its index: an exchange that expects the word expects the record.
 */
export function offsetOf({ fillTicks, ticksPerMicro }: Schedule, generation: number): number {
  if (fillTicks === 0) return (generation % ORIGIN_PLACES) * ORIGIN_STEP_US;
  const places = Math.min(ORIGIN_PLACES, Math.max(1, Math.floor(MAX_ORIGIN_TICKS / fillTicks)));
  return (generation % places) * (fillTicks / ticksPerMicro);
}

/**
 * `nowUs` in whole ticks since the origin; for a quantum bucket, the last fill at or before it.
 *
 * @throws HandleError `ERR_REGION_DAMAGED` if the result is not finite
 */
export function ticksAt(schedule: Schedule, originUs: number, nowUs: number): number {
  const ticks = Math.round((nowUs - originUs) * schedule.ticksPerMicro);
  if (!Number.isFinite(ticks)) {
    throw new HandleError('ERR_REGION_DAMAGED', "the clock or the limiter's origin makes no sense");
  }
  const { fillTicks } = schedule;
  return fillTicks === 0 ? ticks : Math.floor(ticks / fillTicks) * fillTicks;
}

/** Ticks as tokens, capped at the burst, which was rounded up to ticks. */
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

/** Reads a record; undefined if it is invalid or being written. */
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
 * Reads the live record. If the record cannot be read, it was reused since the word was loaded, so
 * the word has changed. If the word has not changed, the cell was overwritten.
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

/** The record of a generation; undefined if its place was reused. */
export function recordOf(place: CellPlace, generation: number): PlacedRecord | undefined {
  for (let index = 0; index < RECORD_COUNT; index++) {
    const at = (recordOffset(place.offset, index) + RECORD.generation) >> 2;
    if (Atomics.load(place.region.i32, at) !== generation) continue;
    const record = readRecord(place, index);
    return record?.generation === generation ? record : undefined;
  }
  return undefined;
}

/** The generation that a record replaced; undefined if the record's place was reused. */
export function generationBefore(
  { region, offset }: CellPlace,
  { index, generation }: PlacedRecord,
): number | undefined {
  const before = Atomics.load(region.i32, (offset + BUCKET.before + 4 * index) >> 2);
  // Written after the generation, so it belongs to this record if the generation is unchanged.
  const at = (recordOffset(offset, index) + RECORD.generation) >> 2;
  return Atomics.load(region.i32, at) === generation ? before : undefined;
}

/**
 * Watches a limit without loading the bucket's contended word. A record repeats its generation as
 * its tenure, which a reconfiguration clears first: while it is set, the limit is in force.
 */
export class Tenure {
  readonly #place: CellPlace;
  readonly #i32: Int32Array<SharedArrayBuffer>;
  #at = 0;
  #generation = 0;

  constructor(place: CellPlace) {
    this.#place = place;
    this.#i32 = place.region.i32;
    this.renew();
  }

  /** Watches the current limit. */
  renew(): void {
    const { index, generation } = liveRecord(this.#place);
    this.#at = (recordOffset(this.#place.offset, index) + RECORD.tenure) >> 2;
    this.#generation = generation;
  }

  /** Whether the limit is known to be in force, without loading the word. */
  get holds(): boolean {
    return this.#i32[this.#at] === this.#generation;
  }

  /** Whether the limit is in force although a reconfiguration has begun, which may never finish. */
  get endures(): boolean {
    return liveRecord(this.#place).generation === this.#generation;
  }
}
