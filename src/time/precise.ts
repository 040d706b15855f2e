import { shown } from '../options.ts';

let known: boolean | undefined;

/**
 * The default of `precise`: true, unless the environment has `ZEROTIME_PRECISE=0`.
 *
 * @throws RangeError for another value than 0 or 1.
 */
export function isPreciseByDefault(): boolean {
  known ??= fromEnvironment();
  return known;
}

function fromEnvironment(): boolean {
  const value = globalThis.process?.env?.['ZEROTIME_PRECISE'] || '1';
  if (value !== '0' && value !== '1') {
    throw new RangeError(`ZEROTIME_PRECISE must be "0" or "1", got ${shown(value)}`);
  }
  return value === '1';
}
