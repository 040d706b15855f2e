import { Bell } from '../../memory/bell.ts';
import { allocateCell, type CellPlace, openCell, publishCell } from '../../memory/cell.ts';
import type { KernelName } from '../../memory/handle.ts';
import { BUCKET, BUCKET_BYTES, type CellKind } from '../../memory/layout.ts';
import type { Region } from '../../memory/region.ts';
import { buckets } from './engine.ts';
import { sound } from './failure.ts';
import { liveRecord } from './record.ts';
import type { Schedule } from './schedule.ts';

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
