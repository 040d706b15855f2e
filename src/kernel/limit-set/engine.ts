import { limitSets as build } from '../build/modules.ts';
import { EngineModule } from '../open.ts';
import { NOTES } from './notes.ts';

/** The halves of a key's hash, and the instant. Without keys, `high` is the cell. */
type Call = [high: number, low: number, nowUs: number];
type Halves = [low: number, high: number];

/** The exports of engine/limit-sets.ts. Results below {@link NEVER} are failures. */
export interface LimitSetEngine {
  /** Turns to a cell; 0 (false) if its limits are invalid. */
  open(
    ...cell: [
      ...[cell: number, entries: number, whenFull: number, records: number, limits: number],
      ...[patience: number, list: number, places: number, slots: number, slotBytes: number],
    ]
  ): number;
  lay(cell: number): void;
  layLimit(i: number, nowUs: number, rate: number, burst: number, ticksPerToken: number): void;
  fillShared(i: number, initial: number): void;
  acquire(...call: [...Call, tokens: number, maxWaitUs: number]): number;
  charge(...call: [...Call, tokens: number]): number;
  /** Returns 0, {@link NO_PLACE} or a failure. */
  block(...call: [...Call, us: number]): number;
  decide(...call: [...Call, tokens: number]): number;
  drain(...call: [...Call, tokens: number]): number;
  /** NaN after a failure. */
  balance(...call: Call): number;
  timeUntil(...call: [...Call, tokens: number]): number;
  /** 1 if promised tokens have moved up. */
  returnTokens(...call: [...Call, tokens: number]): number;
  reset(...call: Call): number;
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
  receiptEntry(): number;
  receiptVersion(): number;
  /** Claims a record for new limits: 0 or a failure. */
  beginChange(): number;
  putLimit(i: number, rate: number, burst: number, ticksPerToken: number): void;
  publishChange(live: number, nowUs: number): number;
  /** Makes all exchanges fail that other threads have prepared. */
  fence(): void;
  entriesInUse(nowUs: number): number;
  reclaimed(): number;
  placeless(): number;
  longestProbe(): number;
  lostRaces(): number;
  failure(): number;
  leaveRegion(): void;
  holdAs(process: number): void;
}

/** The engine of limit sets. `readClock` is called only for keys. */
export function setImports(readClock: () => number) {
  return { clock: { readClock }, notes: NOTES };
}

export const limitSets = /* @__PURE__ */ new EngineModule<LimitSetEngine>(
  build,
  /* @__PURE__ */ setImports(() => Number.NaN),
);
