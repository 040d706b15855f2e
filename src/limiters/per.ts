import { checkNumber, shown } from '../options.ts';

const SECONDS = {
  millisecond: 1e-3,
  second: 1,
  minute: 60,
  hour: 3_600,
  day: 86_400,
} as const;

/** A unit of time for {@link per}. */
export type RateUnit = keyof typeof SECONDS;

/**
 * Converts a rate per unit of time to tokens per second.
 *
 * @example
 * ```ts
 * per(100, 'minute'); // 1.6666666666666667
 * ```
 * @throws RangeError, TypeError if `n` is not finite and greater than 0, or `unit` is unknown.
 */
export function per(n: number, unit: RateUnit): number {
  checkNumber('n', n, { above: 0 });
  if (!Object.hasOwn(SECONDS, unit)) {
    const units = Object.keys(SECONDS).join(', ');
    throw new RangeError(`unit must be one of ${units}, got ${shown(unit)}`);
  }
  return n / SECONDS[unit];
}
