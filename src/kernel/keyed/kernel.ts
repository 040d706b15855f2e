import type { KernelName } from '../../memory/handle.ts';
import type { LimiterStats, Place, TokenKernel } from '../bucket/kernel.ts';
import type { Schedule } from '../bucket/schedule.ts';
import type { Limits, NameOf } from './limits.ts';
import type { Change } from './table-change.ts';

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
  /** Empties the key's bucket for a time; false if the key finds no place in the table. */
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
