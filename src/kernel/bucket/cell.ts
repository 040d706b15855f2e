import { allocateCell, type CellPlace, openCell, publishCell } from '../../memory/cell.ts';
import { BUCKET, BUCKET_BYTES, CELL, type CellKind, INDEX_BITS } from '../../memory/layout.ts';
import type { Region } from '../../memory/region.ts';
import { liveRecord, nextGeneration, originOf, ticksAt, writeRecord } from './record.ts';
import { type Schedule, ticksOf } from './schedule.ts';

/** What a new bucket is made of. */
export interface NewBucket {
  readonly kind: CellKind;
  readonly schedule: Schedule;
  readonly nowUs: number;
  /** Tokens at the start. */
  readonly initial: number;
  readonly stats: boolean;
  readonly region: Region | undefined;
}

/** Lays a new bucket down in shared memory. */
export function createBucketCell(bucket: NewBucket): CellPlace {
  const { kind, schedule, nowUs, initial, region, stats } = bucket;
  const place = allocateCell(region, BUCKET_BYTES, stats);
  layBucket(place, schedule, nowUs, initial);
  publishCell(place, kind);
  return place;
}

/** Writes a bucket's word and its first configuration record. */
export function layBucket(
  place: CellPlace,
  schedule: Schedule,
  nowUs: number,
  initial: number,
): void {
  const generation = nextGeneration(place);
  const originUs = originOf(schedule, nowUs, generation);
  writeRecord(place, 0, { generation, schedule, originUs });
  place.region.i32[(place.offset + BUCKET.claims) >> 2] = 1;
  const held = ticksOf(initial, schedule.ticksPerToken, Math.ceil);
  const zeroTime = BigInt(ticksAt(schedule, originUs, nowUs)) - held;
  Atomics.store(
    place.region.i64,
    (place.offset + CELL.word) >> 3,
    BigInt.asIntN(64, zeroTime << BigInt(INDEX_BITS)),
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
