import { HandleError } from '../../errors.ts';
import { allocateCell, type CellPlace, openCell, publishCell } from '../../memory/cell.ts';
import { Configurations } from '../../memory/configurations.ts';
import type { KernelName } from '../../memory/handle.ts';
import {
  type CellKind,
  KEYED,
  keyedBytes,
  REGION_HEADER_BYTES,
  SEED_BYTES,
  STRIPE_BYTES,
  STRIPE_COUNT,
} from '../../memory/layout.ts';
import { Region } from '../../memory/region.ts';
import { layBucket } from '../bucket/cell.ts';
import { liveRecord } from '../bucket/record.ts';
import type { Schedule } from '../bucket/schedule.ts';
import { WHEN_FULL, type WhenFull } from '../constants.ts';

/** Entries per key of capacity: in a half-full table, probes are short. */
const ENTRIES_PER_KEY = 2;
/** The most keys that fit into a region. */
export const MAX_CAPACITY = 67_000_000;
/** A larger table gets its own region, which is freed with the table. */
const MAX_DEFAULT_BYTES = 16_384;
/** Below every state: no bucket was reclaimed yet. */
const NONE_FORGOTTEN = -(2n ** 63n);

/** The configuration of a new table of buckets. */
export interface NewTable {
  readonly kind: CellKind;
  readonly schedule: Schedule;
  readonly nowUs: number;
  /** The number of keys. */
  readonly capacity: number;
  readonly whenFull: WhenFull;
  readonly stats: boolean;
  readonly region: Region | undefined;
  /** The requested kernel, if any. */
  readonly kernel?: KernelName | undefined;
}

/** The layout of a table, and its origin. */
interface TableLayout {
  readonly entries: number;
  readonly whenFull: number;
  readonly originUs: number;
}
const layouts = new Configurations<TableLayout>();

/** Creates a table in shared memory. */
export function createKeyedCell(table: NewTable): CellPlace {
  const { kind, schedule, nowUs, capacity, whenFull, stats, kernel } = table;
  const entries = capacity * ENTRIES_PER_KEY;
  const bytes = keyedBytes(entries);
  const own = () =>
    Region.create({ bytes: REGION_HEADER_BYTES + bytes + STRIPE_COUNT * STRIPE_BYTES });
  const region = table.region ?? (bytes > MAX_DEFAULT_BYTES ? own() : undefined);
  const place = allocateCell(region, bytes, stats);
  layBucket(place, { schedule, nowUs, initial: schedule.burst, kernel });
  const { buffer, i32, i64, f64 } = place.region;
  const at = place.offset;
  i32[(at + KEYED.entries) >> 2] = entries;
  i32[(at + KEYED.whenFull) >> 2] = WHEN_FULL[whenFull];
  f64[(at + KEYED.originUs) >> 3] = nowUs;
  i64[(at + KEYED.forgotten) >> 3] = NONE_FORGOTTEN;
  // Random values cannot be written into shared memory directly.
  const seed = crypto.getRandomValues(new Uint8Array(SEED_BYTES));
  new Uint8Array(buffer, at + KEYED.seed, SEED_BYTES).set(seed);
  publishCell(place, kind);
  return layouts.keep(place, { entries, whenFull: WHEN_FULL[whenFull], originUs: nowUs });
}

/**
 * Checks that a table of this kind lies at `offset`, entirely within the region, with a valid
 * configuration.
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
  const { entries, whenFull, originUs } = readLayout(head);
  if (entries < 1 || entries > MAX_CAPACITY * ENTRIES_PER_KEY) {
    throw new HandleError('ERR_REGION_DAMAGED', `the table says it has ${entries} entries`);
  }
  const place = openCell(region, offset, kind, nonce, keyedBytes(entries));
  liveRecord(place);
  if (!Object.values<number>(WHEN_FULL).includes(whenFull) || !Number.isFinite(originUs)) {
    throw new HandleError('ERR_REGION_DAMAGED', "the table's configuration makes no sense");
  }
  return layouts.keep(place, { entries, whenFull, originUs });
}

/** The layout of a table, which never changes. */
export function readTable(place: CellPlace): TableLayout {
  return layouts.of(place);
}

function readLayout({ region, offset }: CellPlace): TableLayout {
  return {
    entries: region.i32[(offset + KEYED.entries) >> 2] ?? 0,
    whenFull: region.i32[(offset + KEYED.whenFull) >> 2] ?? -1,
    originUs: region.f64[(offset + KEYED.originUs) >> 3] ?? Number.NaN,
  };
}
