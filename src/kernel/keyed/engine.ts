import type { EngineResults } from '../bucket/engine.ts';

/** The exports of engine/keyed.ts. An instance serves one table of one thread. */
export interface KeyedEngine extends EngineResults {
  /** Returns 0 (false) if the table's limit is invalid. */
  open(
    cell: number,
    entries: number,
    whenFull: number,
    records: number,
    limits: number,
    patience: number,
  ): number;
  /** Selects the limit of later calls: 0 for the table's own, otherwise a tier. */
  useTier(index: number): void;
  acquire(high: number, low: number, nowUs: number, tokens: number, maxWaitUs: number): number;
  charge(high: number, low: number, nowUs: number, tokens: number): number;
  /** Returns 0, {@link NO_PLACE} or a failure. */
  block(high: number, low: number, nowUs: number, us: number): number;
  decide(high: number, low: number, nowUs: number, tokens: number): number;
  drain(high: number, low: number, nowUs: number, tokens: number): number;
  returnTokens(high: number, low: number, nowUs: number, tokens: number): void;
  reset(high: number, low: number, nowUs: number): void;
  cancel(
    entry: number,
    high: number,
    version: number,
    wordLow: number,
    wordHigh: number,
    costLow: number,
    costHigh: number,
  ): number;
  /** NaN for {@link NO_PLACE}. */
  balance(high: number, low: number, nowUs: number): number;
  timeUntil(high: number, low: number, nowUs: number, tokens: number): number;
  dueUs(wordLow: number, wordHigh: number): number;
  /** Claims a record for new limits: 0 or {@link BUSY}. */
  beginChange(): number;
  putLimit(tier: number, pace: number, burst: number, ticksPerToken: number, fill: number): void;
  /** Whether the claimed record went live. If not, another change was faster. */
  publishChange(live: number, nowUs: number, ticksPerMicro: number): number;
  entriesInUse(nowUs: number): number;
  reclaimed(): number;
  placeless(): number;
  receiptEntry(): number;
  receiptVersion(): number;
  longestProbe(): number;
}
