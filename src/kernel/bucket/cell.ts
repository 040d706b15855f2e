import { HandleError } from '../../errors.ts';
import { Bell } from '../../memory/bell.ts';
import { allocateCell, type CellPlace, openCell, publishCell } from '../../memory/cell.ts';
import type { KernelName } from '../../memory/handle.ts';
import {
  BUCKET,
  BUCKET_BYTES,
  CELL,
  type CellKind,
  INDEX_BITS,
  RECORD,
  recordOffset,
} from '../../memory/layout.ts';
import type { Region } from '../../memory/region.ts';
import { buckets, sound } from './engine.ts';
import type { Tenure } from './kernel.ts';
import { isSound, type Schedule, scheduleFrom } from './schedule.ts';

/** A configuration record: a schedule, and the clock instant from which the word counts ticks. */
export interface ConfigRecord {
  /** Its place in the cell. */
  readonly index: number;
  /** Different for every record of a cell; 0 while the record is being written. */
  readonly generation: number;
  /** The generation with which its limit came into force. */
  readonly limit: number;
  readonly schedule: Schedule;
  readonly originUs: number;
}

/** Reads a record; undefined if it is invalid or being written. */
function readRecord(place: Omit<CellPlace, 'bytes'>, index: number): ConfigRecord | undefined {
  const { i32, f64 } = place.region;
  const at = recordOffset(place.offset, index);
  const float = (field: number) => f64[(at + field) >> 3] ?? Number.NaN;
  const generation = Atomics.load(i32, (at + RECORD.generation) >> 2);
  const schedule = scheduleFrom(
    float(RECORD.pace),
    float(RECORD.burst),
    float(RECORD.ticksPerToken),
    float(RECORD.fillTicks),
  );
  const originUs = float(RECORD.originUs);
  const limit = Atomics.load(i32, (place.offset + BUCKET.limits + 4 * index) >> 2);
  const settled = Atomics.load(i32, (at + RECORD.generation) >> 2) === generation;
  if (generation === 0 || !settled || !isSound(schedule) || !Number.isFinite(originUs)) {
    return undefined;
  }
  return { generation, limit, schedule, originUs, index };
}

/**
 * Reads the live record. An unreadable record was reused since the word was loaded, so the word has
 * changed; if it has not, the cell was overwritten.
 *
 * @throws HandleError `ERR_REGION_DAMAGED`
 */
export function liveRecord(place: CellPlace): ConfigRecord {
  const at = (place.offset + CELL.word) >> 3;
  for (;;) {
    const word = Atomics.load(place.region.i64, at);
    const index = Number(BigInt.asUintN(INDEX_BITS, word));
    const record = readRecord(place, index);
    if (record !== undefined) return record;
    if (Atomics.load(place.region.i64, at) === word) {
      throw new HandleError('ERR_REGION_DAMAGED', "the limiter's configuration is invalid");
    }
  }
}

/**
 * Watches a limit without loading the bucket's contended word. A record's tenure repeats its
 * generation until a reconfiguration clears it: while it is set, the limit is in force.
 */
export class RecordTenure implements Tenure {
  readonly #place: CellPlace;
  readonly #i32: Int32Array<SharedArrayBuffer>;
  #at = 0;
  #generation = 0;
  /** The generation with which the watched limit came into force. */
  #limit = 0;

  constructor(place: CellPlace) {
    this.#place = place;
    this.#i32 = place.region.i32;
    this.renew();
  }

  /** Watches the current limit. */
  renew(): void {
    this.#watch(liveRecord(this.#place));
  }

  #watch({ index, generation, limit }: ConfigRecord): void {
    this.#at = (recordOffset(this.#place.offset, index) + RECORD.tenure) >> 2;
    this.#generation = generation;
    this.#limit = limit;
  }

  /** Whether the limit is known to be in force, without loading the word. */
  get holds(): boolean {
    return this.#i32[this.#at] === this.#generation;
  }

  /**
   * Whether the limit is in force although {@link holds} is false: in another record, or in this
   * one, if a reconfiguration has begun, which may never finish.
   */
  endures(): boolean {
    const live = liveRecord(this.#place);
    if (live.limit !== this.#limit) return false;
    this.#watch(live);
    return true;
  }
}

/** The configuration of a new bucket. */
export interface NewBucket {
  readonly kind: CellKind;
  readonly schedule: Schedule;
  readonly nowUs: number;
  /** Tokens at the start. */
  readonly initial: number;
  readonly stats: boolean;
  readonly region: Region | undefined;
  /** The requested kernel, if any. */
  readonly kernel?: KernelName | undefined;
}

/** Creates a bucket in shared memory. */
export function createBucketCell(bucket: NewBucket): CellPlace {
  const { kind, region, stats, schedule, nowUs, initial, kernel } = bucket;
  const place = allocateCell(region, BUCKET_BYTES, stats);
  const { pace, burst, ticksPerToken, fillTicks } = schedule;
  const { engine } = buckets.openShared(place.region, kernel);
  const limit = [pace, burst, ticksPerToken, fillTicks] as const;
  sound(engine.createBucket(place.offset, nowUs, ...limit, initial));
  publishCell(place, kind);
  return place;
}

/**
 * Checks that a bucket of this kind with a valid configuration is at `offset`.
 *
 * @throws HandleError
 */
export function openBucketCell(
  region: Region,
  offset: number,
  kind: CellKind,
  nonce: number,
): CellPlace {
  const place = openCell(region, offset, kind, nonce, BUCKET_BYTES);
  liveRecord(place);
  return place;
}

/** Rings when the limit changes. */
export function changesOf({ region, offset }: CellPlace): Bell {
  return new Bell(region.i32, (offset + BUCKET.sequence) >> 2, region);
}
