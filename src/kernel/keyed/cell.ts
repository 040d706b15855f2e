import { HandleError } from '../../errors.ts';
import { type CellPlace, Configurations, openCell, publishCell } from '../../memory/cell.ts';
import {
  type CellKind,
  ENTRY,
  ENTRY_BYTES,
  KEYED,
  KEYED_LIMIT,
  KEYED_LIMIT_BYTES,
  KEYED_RECORD,
  keyedBytes,
  keyedNamesAt,
  MAX_KEYED_LIMITS,
  RECORD,
  RECORD_COUNT,
} from '../../memory/layout.ts';
import type { Region } from '../../memory/region.ts';
import { isWithin, largestBurst, MAX_FILL_TICKS, type Schedule } from '../bucket/schedule.ts';
import {
  LIVE,
  NEVER_SEEN,
  PARITY,
  TABLE_SPAN_TICKS,
  TABLE_TICKS_PER_MICRO,
  TICKS_PER_MICRO,
  type WhenFull,
  ZERO_TIME_SHIFT,
} from '../constants.ts';
import {
  allocateTable,
  ENTRIES_PER_KEY,
  each,
  type Limits,
  type LiveLimits,
  type NewCell,
  openHead,
  readLimits,
  type TableHead,
} from './table-cell.ts';

/** One limit of a table, in ticks of its own. */
export type TableLimit = Pick<Schedule, 'pace' | 'burst' | 'ticksPerToken' | 'fillTicks'>;

/** Adds the name of the limit at an index to its errors. */
export type NameOf = <T>(i: number, make: () => T) => T;

/** Adds no name. */
export const unnamed: NameOf = (_, make) => make();

const MICROS_PER_SECOND = 1e6;
/** The fewest ticks of a token, unless it needs a finer tick than a bucket's. */
const LEAST_TICKS = 64;

function ticksOfToken(rate: number): number {
  const at = (perMicro: number) => Math.round((perMicro * MICROS_PER_SECOND) / rate);
  return Math.max(at(TABLE_TICKS_PER_MICRO), Math.min(LEAST_TICKS, at(TICKS_PER_MICRO)));
}

function flowing({ pace, burst }: Schedule): TableLimit {
  const ticksPerToken = pace === Number.POSITIVE_INFINITY ? 0 : ticksOfToken(pace);
  if (!isWithin(TABLE_SPAN_TICKS, burst, ticksPerToken)) {
    const most = largestBurst(TABLE_SPAN_TICKS, ticksPerToken);
    throw new RangeError(`burst must be at most ${most} at rate ${pace} for keys, got ${burst}`);
  }
  return { pace, burst, ticksPerToken, fillTicks: 0 };
}

/** The fill of a window in tokens: the largest limit that it ever had. */
function fillOf(limits: readonly TableLimit[]): number {
  return Math.max(
    ...limits.map(({ burst, ticksPerToken, fillTicks }) =>
      Math.max(burst, fillTicks / ticksPerToken),
    ),
  );
}

/**
 * The limits of a table in ticks, after those `before`, if any. In windows all count the same, so a
 * limit is less than the window's fill if another one is larger, or was. `at` names a limit in an
 * error.
 */
export function tableLimits(
  schedules: Limits<Schedule>,
  at = unnamed,
  before: readonly TableLimit[] = [],
): Limits<TableLimit> {
  const [{ pace, fillTicks }] = schedules;
  if (fillTicks === 0) return each(schedules, (one, i) => at(i, () => flowing(one)));
  const tokens = Math.max(...schedules.map(({ burst }) => burst), fillOf(before));
  const aim = Math.min(TABLE_TICKS_PER_MICRO * pace, MAX_FILL_TICKS);
  const ticksPerToken = Math.max(1, Math.floor(aim / tokens));
  return each(schedules, ({ burst }) => {
    return { pace, burst, ticksPerToken, fillTicks: ticksPerToken * tokens };
  });
}

/** The bytes of a table for each key of its capacity. */
export const BYTES_PER_KEY = ENTRIES_PER_KEY * ENTRY_BYTES;
/** The most bytes of the names of all tiers: 15 of 64 characters, in JSON. */
const MAX_NAME_BYTES = 2 ** 13;

/** The configuration of a new table of buckets. */
export interface NewTable extends NewCell {
  readonly kind: CellKind;
  /** The limit of calls without a tier, and those of the tiers. */
  readonly limits: Limits<TableLimit>;
  /** The names of the tiers. */
  readonly tiers?: readonly string[];
  /** The number of keys that the table has room for. */
  readonly capacity: number;
  readonly whenFull: WhenFull;
}

/** The layout of a table. */
export interface TableLayout extends TableHead {
  /** Beside its own limit. */
  readonly tiers: readonly string[];
}

const layouts = /* @__PURE__ */ new Configurations<TableLayout>();

/** Creates a table in shared memory. */
export function createKeyedCell(table: NewTable): CellPlace {
  const { kind, limits, tiers = [], nowUs, capacity, whenFull } = table;
  const limitCount = tiers.length + 1;
  const names = new TextEncoder().encode(tiers.length === 0 ? '' : JSON.stringify(tiers));
  const entries = capacity * ENTRIES_PER_KEY;
  const bytes = keyedBytes(entries, limitCount, names.length);
  const { place, head } = allocateTable(table, bytes, entries, whenFull, limitCount);
  const { buffer, i32, i64 } = place.region;
  const at = place.offset;
  i32[(at + KEYED.nameBytes) >> 2] = names.length;
  layLimits(place, head.recordsAt, nowUs, limits);
  new Uint8Array(buffer, at + keyedNamesAt(entries, limitCount), names.length).set(names);
  // The entry that keys without a place share is as one of a key that was never seen.
  const shared = at + KEYED.table + entries * ENTRY_BYTES;
  i64[(shared >> 3) + ENTRY.state] =
    (BigInt(NEVER_SEEN) << BigInt(ZERO_TIME_SHIFT)) | BigInt(PARITY | LIVE);
  publishCell(place, kind);
  return layouts.keep(place, { ...head, tiers });
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
  const most = { limits: MAX_KEYED_LIMITS, isKeyed: true };
  const head = openHead(region, offset, kind, nonce, most);
  const { entries, limitCount } = head;
  const nameBytes = region.i32[(offset + KEYED.nameBytes) >> 2] ?? -1;
  if (!(nameBytes >= 0 && nameBytes <= MAX_NAME_BYTES)) {
    throw new HandleError('ERR_REGION_DAMAGED', "the table's configuration is invalid");
  }
  const bytes = keyedBytes(entries, limitCount, nameBytes);
  const place = openCell(region, offset, kind, nonce, bytes);
  const tiers = readNames(place, entries, limitCount, nameBytes);
  layouts.keep(place, { ...head, tiers });
  liveLimits(place);
  return place;
}

/** The layout of a table, which never changes. */
export function readTable(place: CellPlace): TableLayout {
  return layouts.of(place);
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

/** Writes the limits of a new table, before any other thread can see it. */
function layLimits(
  { region, offset }: CellPlace,
  recordsAt: number,
  nowUs: number,
  limits: Limits<TableLimit>,
): void {
  const { i32, i64, f64 } = region;
  const record = offset + recordsAt;
  f64[(record + KEYED_RECORD.sinceUs) >> 3] = nowUs;
  for (const [i, limit] of limits.entries()) {
    const at = record + KEYED_RECORD.limits + i * KEYED_LIMIT_BYTES;
    i64[(at + KEYED_LIMIT.rest) >> 3] = BigInt(NEVER_SEEN);
    f64[(at + RECORD.pace) >> 3] = limit.pace;
    f64[(at + RECORD.burst) >> 3] = limit.burst;
    f64[(at + RECORD.ticksPerToken) >> 3] = limit.ticksPerToken;
    f64[(at + RECORD.fillTicks) >> 3] = limit.fillTicks;
    f64[(at + RECORD.originUs) >> 3] = nowUs;
  }
  i32[(offset + KEYED.live) >> 2] = RECORD_COUNT;
  i32[(offset + KEYED.swept) >> 2] = RECORD_COUNT;
}

/**
 * Reads the limits in force.
 *
 * @throws HandleError `ERR_REGION_DAMAGED`
 */
export function liveLimits(place: CellPlace): LiveLimits<TableLimit> {
  const float = (at: number) => place.region.f64[at >> 3] ?? Number.NaN;
  const read = (limit: number): TableLimit => ({
    pace: float(limit + RECORD.pace),
    burst: float(limit + RECORD.burst),
    ticksPerToken: float(limit + RECORD.ticksPerToken),
    fillTicks: float(limit + RECORD.fillTicks),
  });
  return readLimits(place, readTable(place), read, isSound);
}

function isSound({ pace, burst, ticksPerToken, fillTicks }: TableLimit): boolean {
  return (
    pace > 0 &&
    burst > 0 &&
    Number.isSafeInteger(ticksPerToken) &&
    ticksPerToken >= 0 &&
    Number.isSafeInteger(fillTicks) &&
    fillTicks >= 0 &&
    isWithin(TABLE_SPAN_TICKS, burst, ticksPerToken)
  );
}
