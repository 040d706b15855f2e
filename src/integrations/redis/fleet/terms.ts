import { HandleError } from '../../../errors.ts';
import type { ContinuousLimit } from '../../../limiters/limit.ts';
import { readFields } from '../../../memory/handle.ts';
import { checkChoice, checkNumber } from '../../../options.ts';
import type { BuyingTerms } from './buying-rule.ts';

/** The largest stock with an exact balance. */
const MAX_STOCK = 1e9;
/** Lower bound of `maxAgeMs`: the stock covers several intervals ahead and must outlive them. */
const LEAST_AGE_INTERVALS = 10;

/** The terms by which a stock is filled. */
export interface FleetTerms extends BuyingTerms {
  /** This process's share of the rate while the source is unreachable, if `'local'`. */
  readonly share: ContinuousLimit | undefined;
}

/** The options of a fleet bucket that apply to every thread that buys. */
export interface FleetTermsOptions {
  /** Maximum number of tokens in stock. */
  readonly stock: number;
  /** Tokens kept regardless of age. */
  readonly minStock?: number | undefined;
  /** Minimum milliseconds between commands to the source. */
  readonly intervalMs?: number | undefined;
  /** Milliseconds after which unspent tokens are returned. */
  readonly maxAgeMs?: number | undefined;
  /** The behaviour while the source is unreachable. */
  readonly whenUnreachable?: 'refuse' | 'local' | undefined;
  /** The rate of the whole fleet, for `'local'`. */
  readonly rate?: number | undefined;
  /** Number of processes that share the rate. */
  readonly processes?: number | undefined;
}

/** Extracts these options from all others. */
export function termsOptionsOf(options: FleetTermsOptions): FleetTermsOptions {
  const { stock, minStock, intervalMs, maxAgeMs, whenUnreachable, rate, processes } = options;
  return { stock, minStock, intervalMs, maxAgeMs, whenUnreachable, rate, processes };
}

/** Those options with their defaults. */
export interface CompleteTerms {
  readonly stock: number;
  readonly minStock: number;
  readonly intervalMs: number;
  readonly maxAgeMs: number;
  readonly whenUnreachable: 'refuse' | 'local';
  /** 0 unless `whenUnreachable` is `'local'`. */
  readonly rate: number;
  readonly processes: number;
}

/** @throws RangeError, TypeError for an invalid option. */
export function completeTerms(options: FleetTermsOptions): CompleteTerms {
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

/** @throws RangeError, TypeError for an invalid option. */
export function termsOf(options: FleetTermsOptions): FleetTerms {
  const { stock, minStock, intervalMs, maxAgeMs, rate, processes } = completeTerms(options);
  const share = processes === 0 ? undefined : { rate: rate / processes, burst: stock };
  return { stock, minStock, intervalUs: intervalMs * 1000, maxAgeUs: maxAgeMs * 1000, share };
}

/** @throws HandleError if a handle's terms are invalid. */
export function readTerms(terms: unknown): FleetTerms {
  const fields = ['stock', 'minStock', 'intervalMs', 'maxAgeMs'] as const;
  const unreachable = ['whenUnreachable', 'rate', 'processes'] as const;
  const what = "the terms in a fleet bucket's handle";
  const read = readFields(what, terms, ...fields, ...unreachable);
  try {
    return termsOf(read as unknown as FleetTermsOptions); // termsOf checks each field
  } catch (cause) {
    throw new HandleError('ERR_HANDLE_INVALID', `${what} are invalid`, { cause });
  }
}
