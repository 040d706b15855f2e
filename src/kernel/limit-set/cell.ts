import { HandleError } from '../../errors.ts';
import { allocateCell, type CellPlace, openCell, publishCell } from '../../memory/cell.ts';
import { Configurations } from '../../memory/configurations.ts';
import type { KernelName } from '../../memory/handle.ts';
import {
  ENTRY_BYTES,
  freeListAt,
  freePlaces,
  INDEX_MASK,
  KEYED,
  limitSetBytes,
  MAX_LIMITS,
  PLACE_BYTES,
  REGION_HEADER_BYTES,
  SEED_BYTES,
  SET_LIMIT,
  SET_LIMIT_BYTES,
  SET_RECORD,
  STRIPE_BYTES,
  STRIPE_COUNT,
  setRecordsAt,
  setSlotBytes,
  setSlotsAt,
} from '../../memory/layout.ts';
import { Region } from '../../memory/region.ts';
import { memoryOf } from '../../memory/region-memory.ts';
import { isSound, type Schedule, scheduleFrom } from '../bucket/schedule.ts';
import { PATIENCE, WHEN_FULL, type WhenFull } from '../constants.ts';
import { ENTRIES_PER_KEY, MAX_CAPACITY, MAX_DEFAULT_BYTES } from '../keyed/cell.ts';
import { type LimitSetEngine, limitSets } from './engine.ts';

/** The kinds of cell that hold a limit set. */
export type SetKind = 'limit-set' | 'keyed-limit-set';

/** The configuration of a new limit set, with keys if it has a capacity. */
export interface NewLimitSet {
  readonly schedules: readonly Schedule[];
  readonly nowUs: number;
  readonly stats: boolean;
  readonly region: Region | undefined;
  readonly kernel?: KernelName | undefined;
  /** Tokens at the start under each limit. Default: full. */
  readonly initial?: readonly number[];
  /** The number of keys that the table has room for. */
  readonly capacity?: number;
  readonly whenFull?: WhenFull;
}

/** The bytes of a keyed set for each key of its capacity. */
export function setBytesPerKey(limits: number): number {
  return ENTRIES_PER_KEY * (ENTRY_BYTES + setSlotBytes(1, limits));
}

/** The layout of a set. */
export interface SetLayout {
  /** 0 if the set has no keys. */
  readonly entries: number;
  readonly whenFull: number;
  readonly limitCount: number;
}

const layouts = /* @__PURE__ */ new Configurations<SetLayout>();

/** The layout of a set, which never changes. */
export function layoutOf(place: CellPlace): SetLayout {
  return layouts.of(place);
}

/** Points an engine at a set; false if its limits are invalid. */
export function turnTo(engine: LimitSetEngine, place: CellPlace, patience = PATIENCE): boolean {
  const { offset } = place;
  const { entries, whenFull, limitCount } = layoutOf(place);
  const list = [offset + freeListAt(entries, limitCount), freePlaces(entries)] as const;
  const slots = [
    offset + setSlotsAt(entries, limitCount),
    setSlotBytes(entries, limitCount),
  ] as const;
  const records = offset + setRecordsAt(entries);
  return (
    engine.open(offset, entries, whenFull, records, limitCount, patience, ...list, ...slots) !== 0
  );
}

/** Below every instant: no bucket has been reclaimed. */
const NONE_FORGOTTEN = -(2n ** 63n);

/** Creates a limit set in shared memory. */
export function createLimitSetCell(set: NewLimitSet): CellPlace {
  const { schedules, nowUs, stats, kernel, capacity = 0, whenFull = 'share' } = set;
  const entries = capacity * ENTRIES_PER_KEY;
  const limitCount = schedules.length;
  const bytes = limitSetBytes(entries, limitCount);
  const own = () =>
    Region.over(
      memoryOf({
        bytes: REGION_HEADER_BYTES + bytes + STRIPE_COUNT * STRIPE_BYTES,
        plain: kernel === 'atomics',
      }),
    );
  const region = set.region ?? (bytes > MAX_DEFAULT_BYTES ? own() : undefined);
  const place = allocateCell(region, bytes, stats);
  const { buffer, i32, i64 } = place.region;
  const at = place.offset;
  i32[(at + KEYED.entries) >> 2] = entries;
  i32[(at + KEYED.whenFull) >> 2] = WHEN_FULL[whenFull];
  i32[(at + KEYED.limitCount) >> 2] = limitCount;
  i64[(at + KEYED.forgotten) >> 3] = NONE_FORGOTTEN;
  const list = (at + freeListAt(entries, limitCount)) / PLACE_BYTES;
  for (let i = 0; i < freePlaces(entries); i++) i64[list + i] = BigInt(entries + 1 + i + 1);
  if (entries > 0) {
    // Random values cannot be written to shared memory directly.
    const seed = crypto.getRandomValues(new Uint8Array(SEED_BYTES));
    new Uint8Array(buffer, at + KEYED.seed, SEED_BYTES).set(seed);
  }
  layouts.keep(place, { entries, whenFull: WHEN_FULL[whenFull], limitCount });
  layLimits(place, schedules, nowUs, set.initial ?? schedules.map(({ burst }) => burst), kernel);
  publishCell(place, capacity > 0 ? 'keyed-limit-set' : 'limit-set');
  return place;
}

/** Writes the first record, and the contents of the shared entry. */
function layLimits(
  place: CellPlace,
  schedules: readonly Schedule[],
  nowUs: number,
  initial: readonly number[],
  kernel: KernelName | undefined,
): void {
  if (!Number.isFinite(nowUs)) {
    throw new HandleError('ERR_REGION_DAMAGED', "the clock or the limiter's origin is invalid");
  }
  const { engine } = limitSets.openShared(place.region, kernel);
  turnTo(engine, place);
  for (const [i, { pace, burst, ticksPerToken }] of schedules.entries()) {
    engine.layLimit(i, nowUs, pace, burst, ticksPerToken);
  }
  engine.lay(place.offset);
  turnTo(engine, place);
  for (const [i, tokens] of initial.entries()) engine.fillShared(i, tokens);
}

/**
 * Checks that a set of valid limits is at `offset`, entirely within the region.
 *
 * @throws HandleError
 */
export function openLimitSetCell(
  region: Region,
  offset: number,
  kind: SetKind,
  nonce: number,
): CellPlace {
  const head = openCell(region, offset, kind, nonce, KEYED.table);
  const field = (at: number) => region.i32[(head.offset + at) >> 2] ?? -1;
  const entries = field(KEYED.entries);
  const whenFull = field(KEYED.whenFull);
  const limitCount = field(KEYED.limitCount);
  const most = kind === 'limit-set' ? 0 : MAX_CAPACITY * ENTRIES_PER_KEY;
  if (!(entries >= Math.min(most, 1) && entries <= most)) {
    throw new HandleError('ERR_REGION_DAMAGED', `a ${kind} cannot have ${entries} entries`);
  }
  if (!(limitCount >= 1 && limitCount <= MAX_LIMITS)) {
    throw new HandleError('ERR_REGION_DAMAGED', `a limit set cannot have ${limitCount} limits`);
  }
  if (!Object.values<number>(WHEN_FULL).includes(whenFull)) {
    throw new HandleError('ERR_REGION_DAMAGED', "the set's configuration is invalid");
  }
  const place = openCell(region, offset, kind, nonce, limitSetBytes(entries, limitCount));
  layouts.keep(place, { entries, whenFull, limitCount });
  liveLimits(place);
  return place;
}

/** The word that names the limits in force, and the instant at which they came into force. */
export function changeOf(place: CellPlace): { readonly live: number; readonly sinceUs: number } {
  const { i32, f64 } = place.region;
  const at = (place.offset + KEYED.live) >> 2;
  for (;;) {
    const live = Atomics.load(i32, at);
    const sinceUs = f64[(recordIn(place, live) + SET_RECORD.sinceUs) >> 3] ?? Number.NaN;
    if (Atomics.load(i32, at) === live) return { live, sinceUs };
  }
}

/** Byte offset of the record that a word names. */
function recordIn(place: CellPlace, live: number): number {
  const { entries, limitCount } = layoutOf(place);
  const bytes = SET_RECORD.limits + limitCount * SET_LIMIT_BYTES;
  return place.offset + setRecordsAt(entries) + (live & INDEX_MASK) * bytes;
}

/** The limits in force, and the word that names their record. */
export interface LiveLimits {
  readonly live: number;
  readonly schedules: readonly Schedule[];
}

/**
 * Reads the limits in force, as of one instant.
 *
 * @throws HandleError `ERR_REGION_DAMAGED`
 */
export function liveLimits(place: CellPlace): LiveLimits {
  const { limitCount } = layoutOf(place);
  const { i32, i64, f64 } = place.region;
  const at = (place.offset + KEYED.live) >> 2;
  for (;;) {
    const live = Atomics.load(i32, at);
    const record = recordIn(place, live);
    const schedules = Array.from({ length: limitCount }, (_, i) => {
      const limit = record + SET_RECORD.limits + i * SET_LIMIT_BYTES;
      const float = (name: 'rate' | 'burst') => f64[(limit + SET_LIMIT[name]) >> 3] ?? Number.NaN;
      const perToken = Number(i64[(limit + SET_LIMIT.ticksPerToken) >> 3]);
      return scheduleFrom(float('rate'), float('burst'), perToken, 0);
    });
    const isWhole = Number.isFinite(f64[(record + SET_RECORD.sinceUs) >> 3]);
    // No thread writes a record that the word names.
    if (Atomics.load(i32, at) !== live) continue;
    if (isWhole && schedules.every(isSound)) return { live, schedules };
    throw new HandleError('ERR_REGION_DAMAGED', 'the limits of the set are invalid');
  }
}
