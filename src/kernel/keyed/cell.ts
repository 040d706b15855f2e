import { HandleError } from '../../errors.ts';
import { allocateCell, type CellPlace, openCell, publishCell } from '../../memory/cell.ts';
import { Configurations } from '../../memory/configurations.ts';
import type { KernelName } from '../../memory/handle.ts';
import {
  type CellKind,
  ENTRY_BYTES,
  KEYED,
  KEYED_SLOT,
  keyedBytes,
  keyedCompositeBytes,
  keyedNamesAt,
  keyedRackAt,
  keyedRecordsAt,
  keyedSlotBytes,
  keyedSlotsAt,
  MAX_KEYED_LIMITS,
  MAX_LIMITS,
  RACK_PLACES,
  REGION_HEADER_BYTES,
  SEED_BYTES,
  STRIPE_BYTES,
  STRIPE_COUNT,
} from '../../memory/layout.ts';
import { Region } from '../../memory/region.ts';
import { memoryOf } from '../../memory/region-memory.ts';
import { layBucket } from '../bucket/cell.ts';
import { liveRecord } from '../bucket/record.ts';
import type { Schedule } from '../bucket/schedule.ts';
import { FIRST_TICKS, WHEN_FULL, type WhenFull } from '../constants.ts';
import { layLimits, liveLimits } from './limit-records.ts';
import { type TableLimits, tableLimits } from './limits.ts';

/** Entries per key of capacity: in a half-full table, probes are short. */
const ENTRIES_PER_KEY = 2;
/** The most keys that fit into a region. */
export const MAX_CAPACITY = 67_000_000;

/**
 * The bytes of a table for each key of its capacity. `limits` is above 1 if every key has several.
 */
export function bytesPerKey(limits = 1): number {
  return ENTRIES_PER_KEY * (ENTRY_BYTES + (limits > 1 ? keyedSlotBytes(limits) : 0));
}

/** Larger tables get their own region, which is freed with the table. */
const MAX_DEFAULT_BYTES = 16_384;
/** The most bytes of the names of all tiers: 15 of 64 characters, in JSON. */
const MAX_NAME_BYTES = 2 ** 13;
/** Below every state: no bucket has been reclaimed. */
const NONE_FORGOTTEN = -(2n ** 63n);

/** The configuration of a new table of buckets. */
export interface NewTable {
  readonly kind: CellKind;
  /** The limit of calls without a tier. */
  readonly schedule: Schedule;
  /** The names of the tiers, and all limits in the table's ticks, if there are tiers. */
  readonly tiers?: readonly string[];
  readonly limits?: TableLimits;
  /** The number of limits if every key has all of them. */
  readonly limitsPerKey?: number | undefined;
  readonly nowUs: number;
  /** The number of keys that the table has room for. */
  readonly capacity: number;
  readonly whenFull: WhenFull;
  readonly stats: boolean;
  readonly region: Region | undefined;
  /** The requested kernel, if any. */
  readonly kernel?: KernelName | undefined;
}

/** The layout of a table. */
export interface TableLayout {
  readonly entries: number;
  readonly whenFull: number;
  /** Byte offset of the records of its limits in the cell. */
  readonly recordsAt: number;
  /** Its own limit, and the tiers. */
  readonly limitCount: number;
  readonly tiers: readonly string[];
  /** The number of limits if every key has all of them; otherwise 0. */
  readonly limitsPerKey: number;
}

type Head = Omit<TableLayout, 'tiers' | 'recordsAt'> & { readonly nameBytes: number };

/** The size of the cell, and the places in it. */
function placesOf(
  entries: number,
  limits: number,
  limitsPerKey: number,
  nameBytes: number,
): { readonly bytes: number; readonly recordsAt: number } {
  return limitsPerKey === 0
    ? { bytes: keyedBytes(entries, limits, nameBytes), recordsAt: keyedRecordsAt(entries) }
    : { bytes: keyedCompositeBytes(entries, limits), recordsAt: keyedRecordsAt(entries + 1) };
}

const layouts = /* @__PURE__ */ new Configurations<TableLayout>();

/** Creates a table in shared memory. */
export function createKeyedCell(table: NewTable): CellPlace {
  const { kind, schedule, tiers = [], nowUs, capacity, whenFull, stats, kernel } = table;
  const { limits = tableLimits([schedule], (_, make) => make()) } = table;
  const { limitsPerKey = 0 } = table;
  const limitCount = limitsPerKey || tiers.length + 1;
  const names = new TextEncoder().encode(tiers.length === 0 ? '' : JSON.stringify(tiers));
  const entries = capacity * ENTRIES_PER_KEY;
  const { bytes, recordsAt } = placesOf(entries, limitCount, limitsPerKey, names.length);
  const own = () =>
    Region.over(
      memoryOf({
        bytes: REGION_HEADER_BYTES + bytes + STRIPE_COUNT * STRIPE_BYTES,
        plain: kernel === 'atomics',
      }),
    );
  const region = table.region ?? (bytes > MAX_DEFAULT_BYTES ? own() : undefined);
  const place = allocateCell(region, bytes, stats);
  layBucket(place, { schedule, nowUs, initial: schedule.burst, kernel });
  const { buffer, i32, i64 } = place.region;
  const at = place.offset;
  i32[(at + KEYED.entries) >> 2] = entries;
  i32[(at + KEYED.whenFull) >> 2] = WHEN_FULL[whenFull];
  i32[(at + KEYED.limitCount) >> 2] = limitCount;
  i32[(at + KEYED.nameBytes) >> 2] = names.length;
  i32[(at + KEYED.limitsPerKey) >> 2] = limitsPerKey;
  layLimits(place, recordsAt, nowUs, limits);
  if (limitsPerKey > 0) laySlots(place, entries, limitsPerKey);
  new Uint8Array(buffer, at + keyedNamesAt(entries, limitCount), names.length).set(names);
  i64[(at + KEYED.forgotten) >> 3] = NONE_FORGOTTEN;
  // Random values cannot be written to shared memory directly.
  const seed = crypto.getRandomValues(new Uint8Array(SEED_BYTES));
  new Uint8Array(buffer, at + KEYED.seed, SEED_BYTES).set(seed);
  publishCell(place, kind);
  return layouts.keep(place, {
    ...{ entries, whenFull: WHEN_FULL[whenFull], recordsAt, limitCount, tiers, limitsPerKey },
  });
}

/** Fills the rack and the shared bucket of keys without a place, in a cleared cell. */
function laySlots({ region, offset }: CellPlace, entries: number, limits: number): void {
  const rack = (offset + keyedRackAt(entries, limits)) >> 3;
  for (let i = 0; i < RACK_PLACES; i++) region.i64[rack + i] = BigInt(entries + 1 + i + 1);
  const shared = offset + keyedSlotsAt(entries, limits) + entries * keyedSlotBytes(limits);
  const zeroTimes = (shared + KEYED_SLOT.zeroTimes) >> 3;
  // Long ago, so that the bucket is full.
  region.i64.fill(BigInt(FIRST_TICKS), zeroTimes, zeroTimes + limits);
}

/**
 * Checks that a table of this kind with a valid configuration is at `offset`, entirely within the
 * region.
 *
 * @throws HandleError
 */
export function openKeyedCell(
  region: Region,
  offset: number,
  kind: CellKind,
  nonce: number,
): CellPlace {
  const head = openCell(region, offset, kind, nonce, KEYED.table);
  const { entries, whenFull, limitCount, nameBytes, limitsPerKey } = readHead(head);
  if (entries < 1 || entries > MAX_CAPACITY * ENTRIES_PER_KEY) {
    throw new HandleError('ERR_REGION_DAMAGED', `a table cannot have ${entries} entries`);
  }
  if (
    !Object.values<number>(WHEN_FULL).includes(whenFull) ||
    !(limitCount >= 1 && limitCount <= MAX_KEYED_LIMITS) ||
    !(nameBytes >= 0 && nameBytes <= MAX_NAME_BYTES) ||
    !(limitsPerKey === 0 || (limitsPerKey === limitCount && limitsPerKey <= MAX_LIMITS))
  ) {
    throw new HandleError('ERR_REGION_DAMAGED', "the table's configuration is invalid");
  }
  const { bytes, recordsAt } = placesOf(entries, limitCount, limitsPerKey, nameBytes);
  const place = openCell(region, offset, kind, nonce, bytes);
  liveRecord(place);
  const tiers = limitsPerKey === 0 ? readNames(place, entries, limitCount, nameBytes) : [];
  liveLimits(place, recordsAt, limitCount);
  return layouts.keep(place, { entries, whenFull, recordsAt, limitCount, tiers, limitsPerKey });
}

/** The layout of a table, which never changes. */
export function readTable(place: CellPlace): TableLayout {
  return layouts.of(place);
}

function readHead({ region, offset }: CellPlace): Head {
  const field = (at: number) => region.i32[(offset + at) >> 2] ?? -1;
  return {
    entries: field(KEYED.entries),
    whenFull: field(KEYED.whenFull),
    limitCount: field(KEYED.limitCount),
    nameBytes: field(KEYED.nameBytes),
    limitsPerKey: field(KEYED.limitsPerKey),
  };
}

/** The names of the tiers. */
function readNames(
  { region, offset }: CellPlace,
  entries: number,
  limitCount: number,
  nameBytes: number,
): readonly string[] {
  if (limitCount === 1) return [];
  const at = offset + keyedNamesAt(entries, limitCount);
  // TextDecoder rejects shared memory.
  const bytes = new Uint8Array(region.buffer, at, nameBytes).slice();
  const names = parsed(new TextDecoder().decode(bytes));
  if (
    Array.isArray(names) &&
    names.length === limitCount - 1 &&
    names.every((name): name is string => typeof name === 'string')
  ) {
    return names;
  }
  throw new HandleError('ERR_REGION_DAMAGED', "the names of the table's tiers are invalid");
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
