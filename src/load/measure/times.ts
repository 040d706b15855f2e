import {
  decodeFromCompressedBase64,
  encodeIntoCompressedBase64,
  type Histogram,
} from 'hdr-histogram-js';
import { checkNumber } from '../../options.ts';

/** The distribution of a time over all calls of a run. */
export interface Times {
  /** Number of calls. */
  readonly count: number;
  /** A summary in milliseconds; null without a call. */
  readonly ms: TimesMs | null;
  /**
   * All values, as a histogram in HdrHistogram's compressed encoding. Read it with
   * {@link percentileMs}, or with `decodeFromCompressedBase64` of the package hdr-histogram-js.
   */
  readonly hdrHistogram: string;
  /** The unit of the values in {@link hdrHistogram}. */
  readonly hdrUnit: 'us' | 'ns';
}

/** A summary of times, in milliseconds. */
export interface TimesMs {
  /** The mean. */
  readonly mean: number;
  /** The median: 50 % of the calls took at most this long. */
  readonly p50: number;
  /** 75 % of them. */
  readonly p75: number;
  /** 90 % of them. */
  readonly p90: number;
  /** 95 % of them. */
  readonly p95: number;
  /** 99 % of them. */
  readonly p99: number;
  /** 99.9 % of them. */
  readonly 'p99.9': number;
  /** 99.99 % of them. */
  readonly 'p99.99': number;
  /** The longest time. */
  readonly max: number;
}

/** Units of a histogram in a millisecond. */
export const PER_MS = { us: 1e3, ns: 1e6 } as const;

/** Summarizes a histogram. */
export function timesOf(histogram: Histogram, hdrUnit: Times['hdrUnit']): Times {
  return {
    count: histogram.totalCount,
    ms: summaryOf(histogram, PER_MS[hdrUnit]),
    hdrHistogram: encodeIntoCompressedBase64(histogram),
    hdrUnit,
  };
}

/** The summary of values in units of which `perMs` make a millisecond; null without a value. */
export function summaryOf(histogram: Histogram, perMs: number): TimesMs | null {
  // An empty histogram has neither mean nor maximum.
  if (histogram.totalCount === 0) return null;
  const at = (percentile: number) => histogram.getValueAtPercentile(percentile) / perMs;
  return {
    mean: histogram.mean / perMs,
    p50: at(50),
    p75: at(75),
    p90: at(90),
    p95: at(95),
    p99: at(99),
    'p99.9': at(99.9),
    'p99.99': at(99.99),
    max: histogram.maxValue / perMs,
  };
}

/**
 * Returns any percentile of the times in a result, in milliseconds. Also works on results stored as
 * JSON. Undefined if there was no call.
 *
 * @param percentile above 0 and at most 100
 * @throws RangeError, TypeError if `percentile` is out of range or not a number.
 */
export function percentileMs(times: Times, percentile: number): number | undefined {
  checkNumber('percentile', percentile, { above: 0, max: 100 });
  if (times.count === 0) return undefined;
  const histogram = decodeFromCompressedBase64(times.hdrHistogram);
  return histogram.getValueAtPercentile(percentile) / PER_MS[times.hdrUnit];
}
