import { allocateCell, type CellPlace, openCell, publishCell } from '../../memory/cell.ts';
import type { KernelName } from '../../memory/handle.ts';
import { BUCKET_BYTES, type CellKind } from '../../memory/layout.ts';
import type { Region } from '../../memory/region.ts';
import { openCore } from '../core.ts';
import { liveRecord } from './record.ts';
import type { Schedule } from './schedule.ts';

/** What a new bucket is made of. */
export interface NewBucket {
  readonly kind: CellKind;
  readonly schedule: Schedule;
  readonly nowUs: number;
  /** Tokens at the start. */
  readonly initial: number;
  readonly stats: boolean;
  readonly region: Region | undefined;
  /** The kernel that was asked for, if one was. */
  readonly kernel?: KernelName | undefined;
}

/** Lays a new bucket down in shared memory. */
export function createBucketCell(bucket: NewBucket): CellPlace {
  const { kind, region, stats } = bucket;
  const place = allocateCell(region, BUCKET_BYTES, stats);
  layBucket(place, bucket);
  publishCell(place, kind);
  return place;
}

/** Writes a bucket's word and its first configuration record. */
export function layBucket(
  place: CellPlace,
  bucket: Omit<NewBucket, 'kind' | 'region' | 'stats'>,
): void {
  const { schedule, nowUs, initial, kernel } = bucket;
  const { rate, burst, ticksPerToken, ticksPerMicro, fillTicks } = schedule;
  const { engine } = openCore(place.region, kernel);
  engine.createBucket(
    place.offset,
    nowUs,
    rate,
    burst,
    ticksPerToken,
    ticksPerMicro,
    fillTicks,
    initial,
  );
}

/**
 * Checks that a bucket of this kind lies at `offset`, with a configuration that makes sense.
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
