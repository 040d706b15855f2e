import { changesOf } from '../kernel/bucket/cell.ts';
import type { Schedule } from '../kernel/bucket/schedule.ts';
import { WHEN_FULL, type WhenFull } from '../kernel/constants.ts';
import { BYTES_PER_KEY, type NameOf } from '../kernel/keyed/cell.ts';
import { type Key, KeyHash } from '../kernel/keyed/hash.ts';
import type { Change, KeyedKernel } from '../kernel/keyed/kernel.ts';
import { MAX_CAPACITY } from '../kernel/keyed/table-cell.ts';
import type { Bell } from '../memory/bell.ts';
import { type CellPlace, identityOf } from '../memory/cell.ts';
import type { KernelName } from '../memory/handle.ts';
import type { CellKind } from '../memory/layout.ts';
import { checkNumber, shown } from '../options.ts';
import type { Clock } from '../time/clock.ts';
import type { OpenLimiter, SharedOptions } from './opening.ts';
import { type TierOptions, Tiers } from './tiers.ts';

/** A limiter object that serves one key after another. */
interface Turned {
  turn(high: number, low: number, tier: number): this;
}

/** Opens the kernel of a table. */
export type OpenTable = (
  place: CellPlace,
  readClock: () => number,
  asked: KernelName | undefined,
) => KeyedKernel;

/** A keyed limiter's table as this thread has opened it. */
export class KeyedTable {
  readonly clock: Clock;
  readonly kernel: KeyedKernel;
  readonly tiers: Tiers;
  /** The same for all objects of one table. */
  readonly identity: string;
  readonly changes: Bell;
  readonly #hash: KeyHash;

  constructor({ cell, clock, kernel }: OpenLimiter<CellKind>, open: OpenTable) {
    this.clock = clock;
    this.kernel = open(cell, () => clock.now(), kernel);
    this.tiers = new Tiers(this.kernel.tiers);
    this.identity = identityOf(cell);
    this.changes = changesOf(cell);
    this.#hash = new KeyHash(cell);
  }

  /** Points a limiter at a key, under a tier if one is given. */
  turn<Limiter extends Turned>(limiter: Limiter, key: Key, options?: TierOptions): Limiter {
    this.#hash.read(key);
    // Branch here, so that calls without options stay small enough to be inlined.
    const tier = options === undefined ? 0 : this.tiers.limitOf(options);
    return limiter.turn(this.#hash.high, this.#hash.low, tier);
  }

  /** The limits of the tiers in force, by name. */
  limitsOfTiers<Limit>(limitOf: (schedule: Schedule) => Limit): Readonly<Record<string, Limit>> {
    const [, ...others] = this.kernel.schedules();
    return Object.fromEntries(others.map((one, i) => [this.tiers.names[i], limitOf(one)]));
  }

  /** Puts new limits in force and wakes waiting callers. `at` names a limit in an error. */
  reconfigure(change: Change, at: NameOf = this.tiers.at): void {
    this.kernel.reconfigure(() => this.clock.now(), change, at);
    this.changes.ring();
    this.clock.rouse?.();
  }
}

/** Options common to all keyed limiters. */
export interface TableOptions extends SharedOptions {
  /**
   * Number of keys that the table has room for: an integer from 1 to 67,000,000. Only keys that
   * have taken tokens lately need room: those whose bucket is not full, or whose current window has
   * a count. The table takes 32 bytes per key, allocated up front; a `KeyedLimitSet` takes 176 plus
   * 16 for each limit, so fewer keys fit.
   */
  readonly capacity: number;
  /**
   * What to do with keys that find no place in the table: let them `'share'` one bucket or window
   * (the default), `'refuse'` or `'admit'` their calls.
   */
  readonly whenFull?: WhenFull;
}

export const TABLE_OPTIONS = { capacity: true, whenFull: true } as const;

/**
 * `bytesPerKey`: a keyed set takes more than one bucket for each key.
 *
 * @throws TypeError, RangeError for an invalid option, naming it.
 */
export function checkTable(
  { capacity, whenFull = 'share' }: TableOptions,
  bytesPerKey = BYTES_PER_KEY,
): {
  capacity: number;
  whenFull: WhenFull;
} {
  const max = Math.floor((MAX_CAPACITY * BYTES_PER_KEY) / bytesPerKey);
  checkNumber('capacity', capacity, { min: 1, max, integer: true });
  if (typeof whenFull !== 'string' || !Object.hasOwn(WHEN_FULL, whenFull)) {
    const choices = Object.keys(WHEN_FULL).join(', ');
    throw new RangeError(`whenFull must be one of ${choices}, got ${shown(whenFull)}`);
  }
  return { capacity, whenFull };
}
