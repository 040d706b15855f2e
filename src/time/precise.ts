import { variable } from '../memory/environment.ts';
import { shown } from '../options.ts';

let known: boolean | 'default' | undefined;

/**
 * The default of `precise` from `ZEROTIME_PRECISE` in the environment. Undefined without it: each
 * sleep then decides by its length.
 *
 * @throws RangeError if it is neither 0 nor 1.
 */
export function preciseByDefault(): boolean | undefined {
  known ??= fromEnvironment();
  return known === 'default' ? undefined : known;
}

/**
 * Whether threads lower their timer slack by default.
 *
 * @throws RangeError, as {@link preciseByDefault} does.
 */
export function isPreciseByDefault(): boolean {
  return preciseByDefault() !== false;
}

function fromEnvironment(): boolean | 'default' {
  const value = variable('ZEROTIME_PRECISE');
  if (value === undefined || value === '') return 'default';
  if (value !== '0' && value !== '1') {
    throw new RangeError(`ZEROTIME_PRECISE must be "0" or "1", got ${shown(value)}`);
  }
  return value === '1';
}
