import type { EngineResults, ReceiptWords } from '../bucket/engine.ts';

/** The halves of a key's hash, and the instant of the call. */
type Call = [high: number, low: number, nowUs: number];
/** A table, and where the records of its limits begin. */
type Table = [cell: number, entries: number, whenFull: number, records: number, limits: number];
/** The entry that an admission charged, and its owner. */
type Charged = [entry: number, high: number, version: number];

/** The exports of engine/keyed.ts. An instance serves one table of one thread. */
export interface KeyedEngine extends EngineResults {
  /** Returns 0 (false) if the table's limit is invalid. */
  open(...table: [...Table, patience: number]): number;
  /** Selects the limit of later calls: 0 for the table's own, otherwise a tier. */
  useTier(index: number): void;
  acquire(...call: [...Call, tokens: number, maxWaitUs: number]): number;
  charge(...call: [...Call, tokens: number]): number;
  /** Returns 0, {@link NO_PLACE} or a failure. */
  block(...call: [...Call, us: number]): number;
  decide(...call: [...Call, tokens: number]): number;
  drain(...call: [...Call, tokens: number]): number;
  /** Returns 0 or a failure. */
  returnTokens(...call: [...Call, tokens: number]): number;
  reset(...call: Call): number;
  cancel(...receipt: [...Charged, ...ReceiptWords]): number;
  /** NaN after a failure. */
  balance(...call: Call): number;
  timeUntil(...call: [...Call, tokens: number]): number;
  /** Prepares the index of the last admission's token. */
  findPromise(): void;
  promiseGeneration(): number;
  promiseLimit(): number;
  indexLow(): number;
  indexHigh(): number;
  fractionLow(): number;
  fractionHigh(): number;
  /** NaN after a failure. */
  dueUs(
    limit: number,
    low: number,
    high: number,
    fractionLow: number,
    fractionHigh: number,
  ): number;
  liveGeneration(): number;
  liveSinceUs(): number;
  /** Claims a record for new limits as of an instant: 0 or a failure. */
  beginChange(nowUs: number): number;
  putLimit(tier: number, pace: number, burst: number, ticksPerToken: number, fill: number): void;
  /** 0, {@link AGAIN} if another change was faster, or a failure. */
  publishChange(live: number): number;
  entriesInUse(nowUs: number): number;
  reclaimed(): number;
  placeless(): number;
  receiptEntry(): number;
  receiptVersion(): number;
  longestProbe(): number;
}
