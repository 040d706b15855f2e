import type { KernelName } from '../../memory/handle.ts';
import type {
  EngineResults,
  PromiseResults,
  ReceiptWords,
  TokenIndexWords,
} from '../bucket/engine.ts';
import type { LimiterStats, Place, TokenKernel } from '../bucket/kernel.ts';
import type { Schedule } from '../bucket/schedule.ts';
import type { NameOf } from './cell.ts';
import type { Limits } from './table-cell.ts';

/** The halves of a key's hash, and the instant of the call. Without keys, `high` is the cell. */
type TableCall = [high: number, low: number, nowUs: number];
/** A table, and where the records of its limits begin. */
type Table = [cell: number, entries: number, whenFull: number, records: number, limits: number];
/** The entry that an admission charged, and its owner. */
type Charged = [entry: number, high: number, version: number];

/** The operations on a table of buckets or limit sets. Results below {@link NEVER} are failures. */
export interface TableEngine {
  acquire(...call: [...TableCall, tokens: number, maxWaitUs: number]): number;
  charge(...call: [...TableCall, tokens: number]): number;
  /** Returns 0, {@link NO_PLACE} or a failure. */
  block(...call: [...TableCall, us: number]): number;
  decide(...call: [...TableCall, tokens: number]): number;
  drain(...call: [...TableCall, tokens: number]): number;
  /** 1 if promised tokens have moved up, 0 or a failure. */
  returnTokens(...call: [...TableCall, tokens: number]): number;
  reset(...call: TableCall): number;
  /** NaN after a failure. */
  balance(...call: TableCall): number;
  timeUntil(...call: [...TableCall, tokens: number]): number;
  /** Claims a record for new limits as of an instant: 0 or a failure. */
  beginChange(nowUs: number): number;
  putLimit(i: number, pace: number, burst: number, ticksPerToken: number, fill: number): void;
  /** 0, {@link AGAIN} if another change was faster, or a failure. */
  publishChange(live: number): number;
  entriesInUse(nowUs: number): number;
  reclaimed(): number;
  placeless(): number;
  receiptEntry(): number;
  receiptVersion(): number;
  longestProbe(): number;
  failedExchanges(): number;
}

/** The exports of engine/keyed.ts. An instance serves one table of one thread. */
export interface KeyedEngine extends TableEngine, EngineResults, PromiseResults {
  /** Returns 0 (false) if the table's limit is invalid. */
  open(...table: [...Table, retryLimit: number]): number;
  /** Selects the limit of later calls: 0 for the table's own, otherwise a tier. */
  useTier(index: number): void;
  cancel(...receipt: [...Charged, ...ReceiptWords]): number;
  /** NaN after a failure. */
  dueUs(...promise: [limit: number, ...TokenIndexWords]): number;
}

/** Computes new limits from those in force. */
export type Change = (inForce: Limits<Schedule>) => Limits<Schedule>;

/** Counts of a table of buckets, over all threads. */
export interface KeyedStats extends Partial<LimiterStats> {
  /** Keys whose buckets are not full. Full buckets need no entry. */
  readonly entries: number;
  /** Entries reclaimed from buckets that were full again. */
  readonly reclaimed: number;
  /** Calls whose key found no place in the table. */
  readonly shared: number;
  /** The most entries that one call probed: at most 64. Counted with `stats: true`. */
  readonly longestProbe?: number;
}

/** The operations on a table of buckets: {@link seek} selects the key for the others. */
export interface KeyedKernel extends TokenKernel {
  readonly name: KernelName;
  /** The names of the tiers, from limit 1 on. */
  readonly tiers: readonly string[];
  /**
   * Selects a key by its hash, and the limit of later calls: 0 for the table's own, otherwise a
   * tier.
   */
  seek(high: number, low: number, tier?: number): void;
  /**
   * Empties the key's bucket for a time; false if the key finds no place in the table, or nothing
   * limits it.
   */
  block(nowUs: number, us: number): boolean;
  /** Fills the key's bucket for every limit. */
  reset(nowUs: number): void;
  /** The place of the last admission, which is due at `dueUs` under the limits in force. */
  position(dueUs: number): Place;
  /** All limits in force. */
  schedules(): Limits<Schedule>;
  /** Puts new limits in force: `change` gets the current ones, and may be called again. */
  reconfigure(readClock: () => number, change: Change, at: NameOf): void;
  stats(nowUs: number): KeyedStats;
}
