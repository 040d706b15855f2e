import { HandleError } from '../../errors.ts';
import { allocateCell, type CellPlace, openCell, publishCell } from '../../memory/cell.ts';
import { Configurations } from '../../memory/configurations.ts';
import type { KernelName } from '../../memory/handle.ts';
import {
  type CellKind,
  ENTRY,
  ENTRY_BYTES,
  KEYED,
  keyedBytes,
  keyedNamesAt,
  keyedRecordsAt,
  MAX_KEYED_LIMITS,
  REGION_HEADER_BYTES,
  SEED_BYTES,
  STRIPE_BYTES,
  STRIPE_COUNT,
} from '../../memory/layout.ts';
import { Region } from '../../memory/region.ts';
import { memoryOf } from '../../memory/region-memory.ts';
import { fail } from '../bucket/failure.ts';
import type { Schedule } from '../bucket/schedule.ts';
import {
  LIVE,
  NEVER_SEEN,
  PARITY,
  WHEN_FULL,
  type WhenFull,
  ZERO_TIME_SHIFT,
} from '../constants.ts';
import { layLimits, liveLimits } from './limit-records.ts';
import { type Limits, type TableLimit, tableLimits } from './limits.ts';

/** Entries per key of capacity: in a half-full table, probes are short. */
export const ENTRIES_PER_KEY = 2;
/** The most keys that fit into a region. */
export const MAX_CAPACITY = 67_000_000;

/** The bytes of a table for each key of its capacity. */
export const BYTES_PER_KEY = ENTRIES_PER_KEY * ENTRY_BYTES;
/** Larger tables get their own region, which is freed with the table. */
export const MAX_DEFAULT_BYTES = 16_384;
/** The most bytes of the names of all tiers: 15 of 64 characters, in JSON. */
const MAX_NAME_BYTES = 2 ** 13;
/** Below every instant: no bucket has been reclaimed. */
const NONE_FORGOTTEN = -(2n ** 63n);

/** The configuration of a new table of buckets. */
export interface NewTable {
  readonly kind: CellKind;
  /** The limit of calls without a tier. */
  readonly schedule: Schedule;
  /** The names of the tiers, and all limits in ticks, if there are tiers. */
  readonly tiers?: readonly string[];
  readonly limits?: Limits<TableLimit>;
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
}

type Head = Omit<TableLayout, 'tiers' | 'recordsAt'> & { readonly nameBytes: number };

const layouts = /* @__PURE__ */ new Configurations<TableLayout>();

/** Creates a table in shared memory. */
export function createKeyedCell(table: NewTable): CellPlace {
  const { kind, schedule, tiers = [], nowUs, capacity, whenFull, stats, kernel } = table;
  const { limits = tableLimits([schedule], (_, make) => make()) } = table;
  const limitCount = tiers.length + 1;
  const names = new TextEncoder().encode(tiers.length === 0 ? '' : JSON.stringify(tiers));
  const entries = capacity * ENTRIES_PER_KEY;
  const bytes = keyedBytes(entries, limitCount, names.length);
  const recordsAt = keyedRecordsAt(entries);
  const own = () =>
    Region.over(
      memoryOf({
        bytes: REGION_HEADER_BYTES + bytes + STRIPE_COUNT * STRIPE_BYTES,
        plain: kernel === 'atomics',
      }),
    );
  if (!Number.isFinite(nowUs)) fail();
  const region = table.region ?? (bytes > MAX_DEFAULT_BYTES ? own() : undefined);
  const place = allocateCell(region, bytes, stats);
  const { buffer, i32, i64 } = place.region;
  const at = place.offset;
  i32[(at + KEYED.entries) >> 2] = entries;
  i32[(at + KEYED.whenFull) >> 2] = WHEN_FULL[whenFull];
  i32[(at + KEYED.limitCount) >> 2] = limitCount;
  i32[(at + KEYED.nameBytes) >> 2] = names.length;
  layLimits(place, recordsAt, nowUs, limits);
  new Uint8Array(buffer, at + keyedNamesAt(entries, limitCount), names.length).set(names);
  i64[(at + KEYED.forgotten) >> 3] = NONE_FORGOTTEN;
  // The entry that keys without a place share is as one of a key that was never seen.
  const shared = at + KEYED.table + entries * ENTRY_BYTES;
  i64[(shared >> 3) + ENTRY.state] =
    (BigInt(NEVER_SEEN) << BigInt(ZERO_TIME_SHIFT)) | BigInt(PARITY | LIVE);
  // Random values cannot be written to shared memory directly.
  const seed = crypto.getRandomValues(new Uint8Array(SEED_BYTES));
  new Uint8Array(buffer, at + KEYED.seed, SEED_BYTES).set(seed);
  publishCell(place, kind);
  return layouts.keep(place, {
    ...{ entries, whenFull: WHEN_FULL[whenFull], recordsAt, limitCount, tiers },
  });
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
  const { entries, whenFull, limitCount, nameBytes } = readHead(head);
  if (entries < 1 || entries > MAX_CAPACITY * ENTRIES_PER_KEY) {
    throw new HandleError('ERR_REGION_DAMAGED', `a table cannot have ${entries} entries`);
  }
  if (
    !Object.values<number>(WHEN_FULL).includes(whenFull) ||
    !(limitCount >= 1 && limitCount <= MAX_KEYED_LIMITS) ||
    !(nameBytes >= 0 && nameBytes <= MAX_NAME_BYTES)
  ) {
    throw new HandleError('ERR_REGION_DAMAGED', "the table's configuration is invalid");
  }
  const bytes = keyedBytes(entries, limitCount, nameBytes);
  const recordsAt = keyedRecordsAt(entries);
  const place = openCell(region, offset, kind, nonce, bytes);
  const tiers = readNames(place, entries, limitCount, nameBytes);
  liveLimits(place, recordsAt, limitCount);
  return layouts.keep(place, { entries, whenFull, recordsAt, limitCount, tiers });
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
