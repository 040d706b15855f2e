import { type CellPlace, Configurations, openCell, publishCell } from '../../memory/cell.ts';
import type { KernelName } from '../../memory/handle.ts';
import {
  ENTRY_BYTES,
  freeListAt,
  freePlaces,
  limitSetBytes,
  MAX_LIMITS,
  PLACE_BYTES,
  SET_LIMIT,
  setSlotBytes,
  setSlotsAt,
} from '../../memory/layout.ts';
import type { Region } from '../../memory/region.ts';
import type { LimitOutcome, Outcome } from '../bucket/kernel.ts';
import { isSound, type Schedule, scheduleFrom } from '../bucket/schedule.ts';
import { limitSets as build } from '../build/modules.ts';
import { RETRY_LIMIT, type WhenFull } from '../constants.ts';
import {
  allocateTable,
  ENTRIES_PER_KEY,
  inForce,
  type LiveLimits,
  type NewCell,
  openHead,
  readLimits,
  type TableHead,
} from '../keyed/table-cell.ts';
import type { TableEngine } from '../keyed/table-host.ts';
import { EngineModule, wantedKernel } from '../open.ts';

/** The last call's report on each limit, in this thread. */
const outcomes: LimitOutcome[] = [];

/** The engine's reports, an import of its host.ts. */
export const NOTES = {
  report(
    limit: number,
    burst: number,
    balance: number,
    retryUs: number,
    fullUs: number,
    nextUs: number,
  ): void {
    outcomes[limit] = { burst, balance, retryUs, fullUs, nextUs };
  },
};

/** The outcome of a decision under several limits, from the engine's reports. */
export function reportedOutcome(allowed: boolean, count: number): Outcome {
  return outcomeOf(allowed, outcomes.slice(0, count));
}

/** The smallest burst, the lowest balance and the longest waits of all limits. */
export function outcomeOf(allowed: boolean, limits: readonly LimitOutcome[]): Outcome {
  let burst = Number.POSITIVE_INFINITY;
  let balance = Number.POSITIVE_INFINITY;
  let retryUs = 0;
  let fullUs = 0;
  let nextUs = 0;
  for (const limit of limits) {
    burst = Math.min(burst, limit.burst);
    balance = Math.min(balance, limit.balance);
    retryUs = Math.max(retryUs, limit.retryUs);
    fullUs = Math.max(fullUs, limit.fullUs);
  }
  // The others have one more token already.
  const whole = wholeOf(balance);
  for (const limit of limits) {
    if (wholeOf(limit.balance) === whole) nextUs = Math.max(nextUs, limit.nextUs);
  }
  return { allowed, burst, balance, retryUs, fullUs, nextUs, limits };
}

/**
 * The whole tokens of a balance. One of more ticks than a double can count may be one bit below a
 * whole number.
 */
export function wholeOf(balance: number): number {
  return Math.max(0, Math.floor(balance + balance * Number.EPSILON));
}

/** The lowest rate and the smallest burst; the other fields are the first limit's. */
export function tightest(schedules: readonly Schedule[]): Schedule {
  return {
    ...(schedules[0] as Schedule), // there is at least one
    rate: Math.min(...schedules.map(({ rate }) => rate)),
    burst: Math.min(...schedules.map(({ burst }) => burst)),
  };
}

type Halves = [low: number, high: number];

/** The exports of engine/limit-sets.ts. Results below {@link NEVER} are failures. */
export interface LimitSetEngine extends TableEngine {
  /** Turns to a cell; 0 (false) if its limits are invalid. */
  open(
    ...cell: [
      ...[cell: number, entries: number, whenFull: number, records: number, limits: number],
      ...[retryLimit: number, list: number, places: number, slots: number, slotBytes: number],
    ]
  ): number;
  lay(cell: number): void;
  layLimit(
    ...limit: [
      cell: number,
      i: number,
      nowUs: number,
      rate: number,
      burst: number,
      perToken: number,
    ]
  ): void;
  fillShared(i: number, initial: number): void;
  stage(...added: [high: number, low: number, limit: number, ...Halves]): number;
  cancel(
    ...admission: [
      ...[entry: number, high: number, version: number, ...Halves],
      ...[limits: number, tokens: number, movedUs: number],
    ]
  ): number;
  /** NaN after a failure, -Infinity if the bucket was reclaimed. */
  dueUs(
    ...promise: [
      ...[high: number, low: number, entry: number, version: number, ...Halves],
      ...[virtual: number, anchor: number],
    ]
  ): number;
  wasDue(): number;
  promiseVirtual(): number;
  promiseAnchor(): number;
  indexLow(): number;
  indexHigh(): number;
  addedLow(limit: number): number;
  addedHigh(): number;
  movedUs(): number;
  limitsWord(): number;
  receiptTokens(): number;
  /** Makes all exchanges fail that other threads have prepared. */
  fence(): void;
  /** The reason for the last failure. */
  failure(): number;
  leaveRegion(): void;
  holdAs(process: number): void;
}

/** The engine of limit sets. `readClock` is called only for keys. */
export function setImports(readClock: () => number) {
  return { host: { readClock, ...NOTES } };
}

export const limitSets = /* @__PURE__ */ new EngineModule<LimitSetEngine>(
  build,
  /* @__PURE__ */ setImports(() => Number.NaN),
);

/** The kinds of cell that hold a limit set. */
export type SetKind = 'limit-set' | 'keyed-limit-set';

/** The configuration of a new limit set, with keys if it has a capacity. */
export interface NewLimitSet extends NewCell {
  readonly schedules: readonly Schedule[];
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

const layouts = /* @__PURE__ */ new Configurations<TableHead>();

/** The layout of a set, which never changes. */
export function layoutOf(place: CellPlace): TableHead {
  return layouts.of(place);
}

/** Points an engine at a set; false if its limits are invalid. */
export function turnTo(
  engine: LimitSetEngine,
  place: CellPlace,
  retryLimit = RETRY_LIMIT,
): boolean {
  const { offset } = place;
  const { entries, whenFull, limitCount, recordsAt } = layoutOf(place);
  const list = [offset + freeListAt(entries, limitCount), freePlaces(entries)] as const;
  const slots = [
    offset + setSlotsAt(entries, limitCount),
    setSlotBytes(entries, limitCount),
  ] as const;
  const records = offset + recordsAt;
  return (
    engine.open(offset, entries, whenFull, records, limitCount, retryLimit, ...list, ...slots) !== 0
  );
}

/** Creates a limit set in shared memory. */
export function createLimitSetCell(set: NewLimitSet): CellPlace {
  const { schedules, nowUs, kernel, capacity = 0, whenFull = 'share' } = set;
  const entries = capacity * ENTRIES_PER_KEY;
  const limitCount = schedules.length;
  const bytes = limitSetBytes(entries, limitCount);
  const { place, head } = allocateTable(set, bytes, entries, whenFull, limitCount);
  const { i64 } = place.region;
  const list = (place.offset + freeListAt(entries, limitCount)) / PLACE_BYTES;
  for (let i = 0; i < freePlaces(entries); i++) i64[list + i] = BigInt(entries + 1 + i + 1);
  layouts.keep(place, head);
  const isKeyed = capacity > 0;
  const initial = set.initial ?? schedules.map(({ burst }) => burst);
  layLimits(place, schedules, nowUs, initial, isKeyed, kernel);
  publishCell(place, isKeyed ? 'keyed-limit-set' : 'limit-set');
  return place;
}

/** Writes the first record, and the contents of the shared entry. */
function layLimits(
  place: CellPlace,
  schedules: readonly Schedule[],
  nowUs: number,
  initial: readonly number[],
  isKeyed: boolean,
  kernel: KernelName | undefined,
): void {
  // With keys, an instance of its own: the shared one takes every call as that of a set without keys.
  const { engine } = isKeyed
    ? limitSets.open(place.region, wantedKernel(kernel))
    : limitSets.openShared(place.region, kernel);
  turnTo(engine, place);
  for (const [i, { pace, burst, ticksPerToken }] of schedules.entries()) {
    engine.layLimit(place.offset, i, nowUs, pace, burst, ticksPerToken);
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
  const most = { limits: MAX_LIMITS, isKeyed: kind === 'keyed-limit-set' };
  const head = openHead(region, offset, kind, nonce, most);
  const bytes = limitSetBytes(head.entries, head.limitCount);
  const place = layouts.keep(openCell(region, offset, kind, nonce, bytes), head);
  liveLimits(place);
  return place;
}

/** The word that names the limits in force, and the instant at which they came into force. */
export function changeOf(place: CellPlace): { readonly live: number; readonly sinceUs: number } {
  return inForce(place, layoutOf(place), () => undefined);
}

/**
 * Reads the limits in force, as of one instant.
 *
 * @throws HandleError `ERR_REGION_DAMAGED`
 */
export function liveLimits(place: CellPlace): LiveLimits<Schedule> {
  const { i64, f64 } = place.region;
  const read = (limit: number) => {
    const float = (name: 'rate' | 'burst') => f64[(limit + SET_LIMIT[name]) >> 3] ?? Number.NaN;
    const perToken = Number(i64[(limit + SET_LIMIT.ticksPerToken) >> 3]);
    return scheduleFrom(float('rate'), float('burst'), perToken, 0);
  };
  return readLimits(place, layoutOf(place), read, isSound);
}
