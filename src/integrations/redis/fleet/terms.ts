import { checkChoice, checkNumber } from '../../../options.ts';

/** The largest stock with an exact balance. */
const MAX_STOCK = 1e9;
/** Lower bound of `maxAgeMs`: the stock covers several intervals ahead and must outlive them. */
const LEAST_AGE_INTERVALS = 10;

/** The options of a fleet bucket that apply to every thread that buys. */
export interface FleetTermsOptions {
  /** Maximum number of tokens in the stock: an integer from 1 to 1e9. */
  readonly stock: number;
  /** Tokens kept regardless of age: an integer from 1 to `stock`. Default 1. */
  readonly minStock?: number | undefined;
  /** Minimum time between commands to the source, in milliseconds: 1 to 60,000. Default 20. */
  readonly intervalMs?: number | undefined;
  /**
   * Milliseconds after which unspent tokens are returned to the source: at least 10 times
   * `intervalMs`, or Infinity. Default 50 times `intervalMs`.
   */
  readonly maxAgeMs?: number | undefined;
  /** The behaviour while the source is unreachable. */
  readonly whenUnreachable?: 'refuse' | 'local' | undefined;
  /** The rate of the whole fleet, for `'local'`. */
  readonly rate?: number | undefined;
  /** Number of processes that share the rate. */
  readonly processes?: number | undefined;
}

/** The terms by which a stock is filled: `rate` and `processes` are 0 unless `'local'`. */
export type FleetTerms = {
  readonly [Term in keyof FleetTermsOptions]-?: NonNullable<FleetTermsOptions[Term]>;
};

/** @throws RangeError, TypeError for an invalid option. */
export function completeTerms(options: FleetTermsOptions): FleetTerms {
  const { stock, minStock = 1, intervalMs = 20, whenUnreachable = 'refuse' } = options;
  checkNumber('stock', stock, { min: 1, max: MAX_STOCK, integer: true });
  checkNumber('minStock', minStock, { min: 1, max: stock, integer: true });
  checkNumber('intervalMs', intervalMs, { min: 1, max: 60_000 });
  const { maxAgeMs = 50 * intervalMs } = options;
  checkNumber('maxAgeMs', maxAgeMs, { min: LEAST_AGE_INTERVALS * intervalMs, orInfinity: true });
  checkChoice('whenUnreachable', whenUnreachable, ['refuse', 'local']);
  const isLocal = whenUnreachable === 'local';
  const rate = isLocal ? checkNumber('rate', options.rate, { min: 1e-6, max: 4e9 }) : 0;
  const processes = isLocal
    ? checkNumber('processes', options.processes, { min: 1, integer: true })
    : 0;
  return { stock, minStock, intervalMs, maxAgeMs, whenUnreachable, rate, processes };
}
