import { WHEN_FULL, type WhenFull } from '../kernel/constants.ts';
import { bytesPerKey, MAX_CAPACITY } from '../kernel/keyed/cell.ts';
import { checkNumber, shown } from '../options.ts';
import type { SharedOptions } from './opening.ts';

/** Options common to all keyed limiters. */
export interface TableOptions extends SharedOptions {
  /**
   * Number of keys that the table has room for: an integer from 1 to 67,000,000. Only keys that
   * have taken tokens lately need room: those whose bucket is not full, or whose current window has
   * a count. The table takes 32 bytes per key, allocated up front; with `limits`, 64 plus 16 for
   * each limit, so fewer keys fit.
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
 * `limitsPerKey` is above 1 if every key has several limits.
 *
 * @throws TypeError, RangeError for an invalid option, naming it.
 */
export function checkTable(
  { capacity, whenFull = 'share' }: TableOptions,
  limitsPerKey = 1,
): {
  capacity: number;
  whenFull: WhenFull;
} {
  const max = Math.floor((MAX_CAPACITY * bytesPerKey()) / bytesPerKey(limitsPerKey));
  checkNumber('capacity', capacity, { min: 1, max, integer: true });
  if (typeof whenFull !== 'string' || !Object.hasOwn(WHEN_FULL, whenFull)) {
    const choices = Object.keys(WHEN_FULL).join(', ');
    throw new RangeError(`whenFull must be one of ${choices}, got ${shown(whenFull)}`);
  }
  return { capacity, whenFull };
}
