import { checkOptions, type Known } from '../../known-options.ts';
import type { LimiterHandle } from '../../limiters/opening.ts';
import type { KernelName } from '../../memory/handle.ts';
import type { Region } from '../../memory/region.ts';
import { checkNumber } from '../../options.ts';
import type { Clock } from '../../time/clock.ts';
import type { MinimaHandle, MinimumLimit, MinimumOptions } from './minima.ts';

/** Options of {@link ConsistentRateLimitingSampler.create} that hold for all threads. */
export interface SamplerOptions {
  /** The most spans per second that are kept in the long run, over all threads: 1e-6 to 4e9. */
  readonly rate: number;
  /**
   * The most spans that are kept at once, at least 2: in any t seconds at most burst + rate x t. The
   * smaller it is, the more often the limit refuses spans that are then missing from the counts.
   * Default: `rate`, at least 10.
   */
  readonly burst?: number;
  /**
   * The time constant of the smoothed rate of arrivals, in milliseconds, from 100 to 86,400,000.
   * Default 1000.
   */
  readonly smoothingMs?: number;
  /**
   * Spans per second that each operation keeps at least, 1e-6 to 4e9, so that rare operations are
   * kept beside frequent ones. What the probability keeps counts towards it. All minima together
   * use at most half of `rate` and of `burst`. Default: no minimum.
   */
  readonly minimum?: number;
  /** Spans that a minimum keeps at once, at least 1. Default: `minimum` x 10 s, at least 1. */
  readonly minimumBurst?: number;
  /**
   * The operations that have minima at the same time, an integer from 1 to 67,000,000. Each takes 32
   * bytes. Operations beyond share one minimum; places fall free as minima fill up. Default 1000.
   */
  readonly operations?: number;
  /** The clock to read. Default: the system's monotonic clock. */
  readonly clock?: Clock;
  /** The region to allocate in. Default: a region of its own. */
  readonly region?: Region;
  /** The implementation to use, in all threads. Default: as for limiters. */
  readonly kernel?: KernelName;
}

/** A change of the limit. Fields left out keep their value. */
export type SamplerChange = Partial<
  Pick<SamplerOptions, 'rate' | 'burst' | 'minimum' | 'minimumBurst'>
>;

/** Attaches other threads to a sampler: a plain value for `workerData` or `postMessage`. */
export interface SamplerHandle {
  /** Always `sampler`. */
  readonly zerotime: 'sampler';
  /** The bucket of the limit, whose memory also holds the rate of arrivals. */
  readonly bucket: LimiterHandle<'token-bucket'>;
  /** Byte offset of the cell that holds the rate of arrivals. */
  readonly offset: number;
  /** A copy of a random number in that cell, to detect stale handles. */
  readonly nonce: number;
  /** The minima of operations, if there are any. */
  readonly minima?: MinimaHandle | undefined;
}

/** What a sampler does, over all threads. */
export interface SamplerStats {
  /** The smoothed rate at which spans arrive, in spans per second. */
  readonly arrivalsPerSecond: number;
  /** The probability with which the next span would be kept. */
  readonly probability: number;
  /** Spans that the probability would have kept and the limit refused, since the creation. */
  readonly refused: number;
  /** Spans that were kept by the minimum of their operation, since the creation. */
  readonly keptByMinimum: number;
}

export const SAMPLER_OPTIONS: Known<SamplerOptions> = {
  rate: true,
  burst: true,
  smoothingMs: true,
  minimum: true,
  minimumBurst: true,
  operations: true,
  clock: true,
  region: true,
  kernel: true,
};
const CHANGE: Known<SamplerChange> = {
  rate: true,
  burst: true,
  minimum: true,
  minimumBurst: true,
};
const BURST = { min: 2 } as const;
const LEAST_BURST = 10;
const OPERATIONS = 1000;
/** How long a minimum adds up while nothing is kept. */
const MINIMUM_SECONDS = 10;

/** @throws RangeError, TypeError naming the parameter, its range and its value. */
export function burstOf(rate: number, burst: number | undefined): number {
  return checkNumber('burst', burst ?? Math.max(rate, LEAST_BURST), BURST);
}

export function minimumLimit(minimum: number, minimumBurst: number | undefined): MinimumLimit {
  checkNumber('minimum', minimum, { min: 1e-6, max: 4e9 });
  const burst = minimumBurst ?? Math.max(1, minimum * MINIMUM_SECONDS);
  return { minimum, minimumBurst: checkNumber('minimumBurst', burst, { min: 1 }) };
}

/** The minimum that the options ask for, and for how many operations. */
export function minimumOf({
  minimum,
  minimumBurst,
  operations,
}: SamplerOptions): MinimumOptions | undefined {
  if (minimum === undefined) {
    for (const [name, value] of Object.entries({ minimumBurst, operations })) {
      if (value !== undefined) throw new TypeError(`${name} must be omitted without a minimum`);
    }
    return undefined;
  }
  return { limit: minimumLimit(minimum, minimumBurst), capacity: operations ?? OPERATIONS };
}

/** A change of the limit, and the minimum that is in force with it. */
interface CheckedChange {
  readonly limit: Partial<Pick<SamplerOptions, 'rate' | 'burst'>>;
  readonly minimum: MinimumLimit | undefined;
}

/** @throws RangeError, TypeError for an invalid change, naming the field. */
export function checkChange(
  change: SamplerChange,
  inForce: MinimumLimit | undefined,
): CheckedChange {
  const { rate, burst, minimum, minimumBurst } = checkOptions(change, CHANGE, 'change');
  if (burst !== undefined) checkNumber('burst', burst, BURST);
  const limit = {
    ...(rate === undefined ? {} : { rate }),
    ...(burst === undefined ? {} : { burst }),
  };
  if (minimum === undefined && minimumBurst === undefined) return { limit, minimum: inForce };
  if (inForce === undefined) {
    throw new TypeError('minimum must be omitted: the sampler was created without one');
  }
  const next = minimumLimit(minimum ?? inForce.minimum, minimumBurst ?? inForce.minimumBurst);
  return { limit, minimum: next };
}
