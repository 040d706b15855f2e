import { allocateCell, type CellPlace, openCell, publishCell } from '../../memory/cell.ts';
import { SharedEvent } from '../../memory/event.ts';
import type { KernelName } from '../../memory/handle.ts';
import { BUCKET, BUCKET_BYTES, type CellKind, RECORD, recordOffset } from '../../memory/layout.ts';
import type { Region } from '../../memory/region.ts';
import { LimitWatch, type Live, readLive } from '../records.ts';
import { buckets, numbersOf, sound } from './engine.ts';
import type { LimitEpoch } from './kernel.ts';
import { isSound, type Schedule, scheduleFrom } from './schedule.ts';

/** A configuration record: a schedule, and the clock instant from which the word counts ticks. */
export interface ConfigRecord extends Live {
  /** The epoch with which its limit came into force. */
  readonly limit: number;
  readonly schedule: Schedule;
  readonly originUs: number;
}

/** @throws HandleError `ERR_REGION_DAMAGED` */
export function liveRecord(place: CellPlace): ConfigRecord {
  const { region, offset } = place;
  const read = (at: number, index: number) => {
    const float = (field: number) => region.f64[(at + field) >> 3] ?? Number.NaN;
    const schedule = scheduleFrom(
      float(RECORD.pace),
      float(RECORD.burst),
      float(RECORD.ticksPerToken),
      float(RECORD.fillTicks),
    );
    const originUs = float(RECORD.originUs);
    const limit = Atomics.load(region.i32, (offset + BUCKET.limits + 4 * index) >> 2);
    return isSound(schedule) && Number.isFinite(originUs)
      ? { limit, schedule, originUs }
      : undefined;
  };
  return readLive(place, read);
}

/**
 * A watch on the limit in force. A record's `liveEpoch` repeats its epoch until a reconfiguration
 * clears it: while it is set, the limit is in force. The limit may endure although it is cleared: in
 * another record, or in this one, if a reconfiguration has begun, which may never finish.
 */
export function watchBucket(place: CellPlace): LimitEpoch {
  return new LimitWatch(place, () => {
    const { index, epoch, limit } = liveRecord(place);
    const at = (recordOffset(place.offset, index) + RECORD.liveEpoch) >> 2;
    return { at, epoch, limit };
  });
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
  const { engine } = buckets.openShared(place.region, kernel);
  sound(engine.createBucket(place.offset, nowUs, ...numbersOf(schedule), initial));
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

/** Fires when the limit changes. */
export function changesOf({ region, offset }: CellPlace): SharedEvent {
  return new SharedEvent(region.i32, (offset + BUCKET.sequence) >> 2, region);
}
