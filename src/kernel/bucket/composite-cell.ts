import { HandleError } from '../../errors.ts';
import { allocateCell, type CellPlace, isKind, openCell, publishCell } from '../../memory/cell.ts';
import {
  BUCKET_BYTES,
  CELL,
  COMPOSITE,
  COMPOSITE_KIND,
  compositeBytes,
  INDEX_BITS,
  MAX_LIMITS,
} from '../../memory/layout.ts';
import type { Region } from '../../memory/region.ts';
import { type NewBucket, openBucketCell } from './cell.ts';
import { buckets } from './engine.ts';
import { sound } from './failure.ts';
import { readRecord } from './record.ts';
import type { Schedule } from './schedule.ts';

/** The configuration of a new bucket with several limits. */
export interface NewComposite extends Omit<NewBucket, 'kind' | 'schedule' | 'initial'> {
  readonly schedules: readonly Schedule[];
  /** Tokens at the start under each limit. */
  readonly initial: readonly number[];
}

/** Creates a bucket with two limits or more in shared memory. */
export function createCompositeCell(bucket: NewComposite): CellPlace {
  const { region, stats, schedules } = bucket;
  const place = allocateCell(region, compositeBytes(schedules.length), stats);
  layComposite(place, bucket);
  publishCell(place, 'token-bucket', COMPOSITE_KIND);
  return place;
}

/** Writes the limits and the first slot. */
function layComposite(
  { region, offset }: CellPlace,
  { schedules, nowUs, initial, kernel }: Omit<NewComposite, 'region' | 'stats'>,
): void {
  const { engine } = buckets.openShared(region, kernel);
  const { length } = schedules;
  region.i32[(offset + COMPOSITE.limitCount) >> 2] = length;
  for (const [i, { pace, burst, ticksPerToken }] of schedules.entries()) {
    const limit = [pace, burst, ticksPerToken, initial[i] ?? 0] as const;
    sound(engine.layLimit(offset, length, i, nowUs, ...limit));
  }
}

/** The number of limits of a bucket whose cell was created or opened: 1 unless composite. */
export function limitCountOf({ bytes }: CellPlace): number {
  for (let count = 2; count <= MAX_LIMITS; count++) {
    if (compositeBytes(count) === bytes) return count;
  }
  return 1;
}

/**
 * Checks that a token bucket with one or more valid limits is at `offset`.
 *
 * @throws HandleError
 */
export function openTokenBucketCell(
  region: Region,
  offset: number,
  kind: 'token-bucket',
  nonce: number,
): CellPlace {
  if (!isKind(region, offset, COMPOSITE_KIND)) return openBucketCell(region, offset, kind, nonce);
  const open = (count: number) =>
    openCell(region, offset, kind, nonce, compositeBytes(count), COMPOSITE_KIND);
  open(2);
  const count = Atomics.load(region.i32, (offset + COMPOSITE.limitCount) >> 2);
  if (!(count >= 2 && count <= MAX_LIMITS)) {
    throw new HandleError('ERR_REGION_DAMAGED', `a limiter cannot have ${count} limits`);
  }
  const place = open(count);
  liveLimits(place, count);
  return place;
}

/** The limits in force, and the generation of their record. */
export interface LiveLimits {
  readonly generation: number;
  readonly schedules: readonly Schedule[];
}

/**
 * Reads the limits of the live record as of one instant.
 *
 * @throws HandleError `ERR_REGION_DAMAGED`
 */
export function liveLimits({ region, offset }: CellPlace, count: number): LiveLimits {
  const at = (offset + CELL.word) >> 3;
  for (;;) {
    const word = Atomics.load(region.i64, at);
    const index = Number(BigInt.asUintN(INDEX_BITS, word));
    const records = Array.from({ length: count }, (_, i) =>
      readRecord({ region, offset: offset + i * BUCKET_BYTES }, index),
    );
    // No thread writes a record while the word names it.
    if (Atomics.load(region.i64, at) !== word) continue;
    const sound = records.filter((record) => record !== undefined);
    const generation = sound[0]?.generation;
    if (sound.length === count && generation !== undefined) {
      return { generation, schedules: sound.map(({ schedule }) => schedule) };
    }
    throw new HandleError('ERR_REGION_DAMAGED', "the limiter's configuration is invalid");
  }
}
