import { HandleError } from '../../errors.ts';
import { allocateCell, type CellPlace, openCell } from '../../memory/cell.ts';
import type { KernelName } from '../../memory/handle.ts';
import {
  type CellKind,
  INDEX_MASK,
  KEYED,
  KEYED_LIMIT_BYTES,
  KEYED_RECORD,
  keyedRecordBytes,
  keyedRecordsAt,
  REGION_HEADER_BYTES,
  SEED_BYTES,
  STRIPE_BYTES,
  STRIPE_COUNT,
} from '../../memory/layout.ts';
import { Region } from '../../memory/region.ts';
import { memoryOf } from '../../memory/shared-memory.ts';
import { fail } from '../bucket/engine.ts';
import { WHEN_FULL, type WhenFull } from '../constants.ts';

// The parts of its cell that a table of buckets and a limit set, keyed or not, have in common.

/** Entries per key of capacity: in a half-full table, probes are short. */
export const ENTRIES_PER_KEY = 2;
/** The most keys that fit into a region. */
export const MAX_CAPACITY = 67_000_000;
/** Larger tables get their own region, which is freed with the table. */
const MAX_DEFAULT_BYTES = 16_384;
/** Below every instant: no bucket has been reclaimed. */
const NO_WATERMARK = -0x8000_0000_0000_0000n;

/** The options that all new tables have. */
export interface NewCell {
  readonly nowUs: number;
  readonly stats: boolean;
  readonly region: Region | undefined;
  /** The requested kernel, if any. */
  readonly kernel?: KernelName | undefined;
}

/** The layout of a table, which never changes. */
export interface TableHead {
  /** 0 if the set has no keys. */
  readonly entries: number;
  readonly whenFull: number;
  readonly limitCount: number;
  /** Byte offset of the records of its limits in the cell. */
  readonly recordsAt: number;
}

/** Allocates the cell of a table with the size that its head implies, and writes the head. */
export function allocateTable(
  { nowUs, stats, region, kernel }: NewCell,
  bytes: number,
  entries: number,
  whenFull: WhenFull,
  limitCount: number,
): { readonly place: CellPlace; readonly head: TableHead } {
  if (!Number.isFinite(nowUs)) fail();
  const own = () =>
    Region.over(
      memoryOf({
        bytes: REGION_HEADER_BYTES + bytes + STRIPE_COUNT * STRIPE_BYTES,
        plain: kernel === 'atomics',
      }),
    );
  const place = allocateCell(
    region ?? (bytes > MAX_DEFAULT_BYTES ? own() : undefined),
    bytes,
    stats,
  );
  const { buffer, i32, i64 } = place.region;
  const at = place.offset;
  i32[(at + KEYED.entries) >> 2] = entries;
  i32[(at + KEYED.whenFull) >> 2] = WHEN_FULL[whenFull];
  i32[(at + KEYED.limitCount) >> 2] = limitCount;
  i64[(at + KEYED.watermark) >> 3] = NO_WATERMARK;
  if (entries > 0) {
    // Random values cannot be written to shared memory directly.
    const seed = crypto.getRandomValues(new Uint8Array(SEED_BYTES));
    new Uint8Array(buffer, at + KEYED.seed, SEED_BYTES).set(seed);
  }
  const recordsAt = keyedRecordsAt(entries);
  return { place, head: { entries, whenFull: WHEN_FULL[whenFull], limitCount, recordsAt } };
}

/**
 * Reads and checks the head of a table of this kind, with at most as many limits, and keys or none.
 *
 * @throws HandleError
 */
export function openHead(
  region: Region,
  offset: number,
  kind: CellKind,
  nonce: number,
  most: { readonly limits: number; readonly isKeyed: boolean },
): TableHead {
  openCell(region, offset, kind, nonce, KEYED.table);
  const field = (at: number) => region.i32[(offset + at) >> 2] ?? -1;
  const entries = field(KEYED.entries);
  const whenFull = field(KEYED.whenFull);
  const limitCount = field(KEYED.limitCount);
  const mostEntries = most.isKeyed ? MAX_CAPACITY * ENTRIES_PER_KEY : 0;
  if (!(entries >= Math.min(mostEntries, 1) && entries <= mostEntries)) {
    throw new HandleError('ERR_REGION_DAMAGED', `a ${kind} cannot have ${entries} entries`);
  }
  if (!(limitCount >= 1 && limitCount <= most.limits)) {
    throw new HandleError('ERR_REGION_DAMAGED', `a ${kind} cannot have ${limitCount} limits`);
  }
  if (!Object.values<number>(WHEN_FULL).includes(whenFull)) {
    throw new HandleError('ERR_REGION_DAMAGED', "the table's configuration is invalid");
  }
  return { entries, whenFull, limitCount, recordsAt: keyedRecordsAt(entries) };
}

/** One or more. */
export type Limits<T> = readonly [T, ...T[]];

/** Makes something of each limit. */
export function each<A, B>(limits: Limits<A>, made: (one: A, i: number) => B): Limits<B> {
  return limits.map(made) as unknown as Limits<B>; // as many
}

/** The limits in force, and the word that names their record. */
export interface LiveLimits<Limit> {
  readonly live: number;
  readonly limits: Limits<Limit>;
}

/**
 * Reads the limits in force, which begin like those of tables in limit sets too: `read` reads one at
 * a byte offset.
 *
 * @throws HandleError `ERR_REGION_DAMAGED`
 */
export function readLimits<Limit>(
  place: CellPlace,
  head: TableHead,
  read: (at: number) => Limit,
  isSound: (limit: Limit) => boolean,
): LiveLimits<Limit> {
  const { live, sinceUs, values } = inForce(place, head, (record) =>
    Array.from({ length: head.limitCount }, (_, i) =>
      read(record + KEYED_RECORD.limits + i * KEYED_LIMIT_BYTES),
    ),
  );
  if (!Number.isFinite(sinceUs) || !values.every(isSound)) {
    throw new HandleError('ERR_REGION_DAMAGED', "the limiter's limits are invalid");
  }
  return { live, limits: values as unknown as Limits<Limit> }; // at least one
}

/**
 * Reads values of the record that the word of a table's limits names, at the record's byte offset,
 * and when it went live. They belong together, because no thread writes a record that the word names.
 */
export function inForce<Values>(
  { region, offset }: CellPlace,
  { recordsAt, limitCount }: TableHead,
  read: (record: number) => Values,
): { readonly live: number; readonly sinceUs: number; readonly values: Values } {
  const at = (offset + KEYED.live) >> 2;
  for (;;) {
    const live = Atomics.load(region.i32, at);
    const record = offset + recordsAt + (live & INDEX_MASK) * keyedRecordBytes(limitCount);
    const sinceUs = region.f64[(record + KEYED_RECORD.sinceUs) >> 3] ?? Number.NaN;
    const values = read(record);
    if (Atomics.load(region.i32, at) === live) return { live, sinceUs, values };
  }
}
