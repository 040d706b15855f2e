import type { LimitOutcome, Outcome } from '../bucket/kernel.ts';
import type { Schedule } from '../bucket/schedule.ts';
import { limitSets as build } from '../build/modules.ts';
import type { TableEngine } from '../keyed/kernel.ts';
import { EngineModule } from '../open.ts';

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
      ...[patience: number, list: number, places: number, slots: number, slotBytes: number],
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
      ...[virtual: number, epoch: number],
    ]
  ): number;
  wasDue(): number;
  promiseVirtual(): number;
  promiseEpoch(): number;
  indexLow(): number;
  indexHigh(): number;
  addedLow(limit: number): number;
  addedHigh(): number;
  movedUs(): number;
  limitsWord(): number;
  receiptTokens(): number;
  /** Makes all exchanges fail that other threads have prepared. */
  fence(cell: number): void;
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
