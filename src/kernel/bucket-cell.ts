import { HandleError } from '../errors.ts';
import {
  bucketCellBytes,
  CELL,
  CELL_KINDS,
  type CellKind,
  INDEX_BITS,
  STRIPE_COUNT,
} from '../memory/layout.ts';
import { allocateByDefault, type Region } from '../memory/region.ts';
import {
  type CellPlace,
  liveRecord,
  nextGeneration,
  originOf,
  ticksAt,
  writeRecord,
} from './config-record.ts';
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
  const { kind, schedule, nowUs, initial, region } = bucket;
  const stripes = bucket.stats ? STRIPE_COUNT : 0;
  const bytes = bucketCellBytes(stripes);
  const place =
    region === undefined ? allocateByDefault(bytes) : { region, offset: region.allocate(bytes) };
  const { i32, i64 } = place.region;
  const { offset } = place;
  // Memory of the user's own may have held anything.
  i32.fill(0, offset >> 2, (offset + bytes) >> 2);
  const generation = nextGeneration(place);
  const originUs = originOf(schedule, nowUs, generation);
  writeRecord(place, 0, { generation, schedule, originUs });
  const full = ticksOf(initial, schedule.ticksPerToken, Math.ceil);
  const zeroTime = BigInt(ticksAt(schedule, originUs, nowUs)) - full;
  i32[(offset + CELL.nonce) >> 2] = Math.floor(Math.random() * 2 ** 31);
  i32[(offset + CELL.claims) >> 2] = 1;
  i32[(offset + CELL.stripes) >> 2] = stripes;
  Atomics.store(i64, (offset + CELL.word) >> 3, zeroTime << BigInt(INDEX_BITS));
  Atomics.store(i32, (offset + CELL.kind) >> 2, CELL_KINDS[kind]);
  return place;
}

/** The random number that a handle repeats. */
export function nonceOf(place: CellPlace): number {
  return Atomics.load(place.region.i32, (place.offset + CELL.nonce) >> 2);
}

/**
 * Checks that a bucket of this kind lies at `offset`, all of it within the region.
 *
 * @throws HandleError
 */
export function openBucketCell(
  region: Region,
  offset: number,
  kind: CellKind,
  nonce: number,
): CellPlace {
  if (!region.holds(offset, bucketCellBytes(0))) {
    throw new HandleError(
      'ERR_REGION_INVALID',
      `no limiter lies at offset ${offset} of the region`,
    );
  }
  const place = { region, offset };
  const field = (at: number) => Atomics.load(region.i32, (offset + at) >> 2);
  if (field(CELL.kind) !== CELL_KINDS[kind]) {
    throw new HandleError('ERR_REGION_INVALID', `there is no ${kind} at offset ${offset}`);
  }
  if (nonceOf(place) !== nonce) {
    throw new HandleError('ERR_HANDLE_INVALID', 'the handle is of a limiter that is no more');
  }
  const stripes = field(CELL.stripes);
  if (stripes !== 0 && stripes !== STRIPE_COUNT) {
    throw new HandleError(
      'ERR_REGION_DAMAGED',
      `the limiter says it has ${stripes} counter stripes`,
    );
  }
  if (!region.holds(offset, bucketCellBytes(stripes))) {
    throw new HandleError('ERR_REGION_INVALID', 'the limiter reaches past the end of its region');
  }
  liveRecord(place);
  return place;
}
