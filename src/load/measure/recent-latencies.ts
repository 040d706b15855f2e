import { Int32Histogram } from 'hdr-histogram-js';
import { DIGITS, HIGHEST_US, type ValueCounts, valueCounts } from './latency-timeline.ts';

/** Counts latencies in few buckets, cheap enough to report four times a second. */
export class RecentLatencies {
  readonly #histogram = new Int32Histogram(1, HIGHEST_US, DIGITS);

  record(us: number): void {
    this.#histogram.recordValue(us > 0 ? Math.min(Math.round(us), HIGHEST_US) : 0);
  }

  add([values, counts]: ValueCounts): void {
    values.forEach((us, at) => {
      this.#histogram.recordValueWithCount(us, counts[at] ?? 0);
    });
  }

  /** Returns all counts and resets them. */
  take(): ValueCounts {
    const counts = valueCounts(this.#histogram);
    this.#histogram.reset();
    return counts;
  }

  /** The approximate percentile in microseconds; undefined if nothing was recorded. */
  percentile(percentile: number): number | undefined {
    const histogram = this.#histogram;
    return histogram.totalCount === 0 ? undefined : histogram.getValueAtPercentile(percentile);
  }
}

/** Percentiles of recent latencies. */
export interface RecentPercentiles {
  /** In microseconds, within 1 %. */
  readonly p50Us: number;
  readonly p99Us: number;
}

/** Percentiles over the last few readings. */
export class LatencyGauge {
  readonly #length: number;
  readonly #window: (readonly ValueCounts[])[] = [];

  /** @param length number of readings to cover */
  constructor(length: number) {
    this.#length = length;
  }

  /** @param counts each thread's counts since the last reading */
  read(counts: readonly ValueCounts[]): RecentPercentiles | undefined {
    this.#window.push(counts);
    if (this.#window.length > this.#length) this.#window.shift();
    const all = new RecentLatencies();
    for (const each of this.#window.flat()) all.add(each);
    const [p50Us, p99Us] = [all.percentile(50), all.percentile(99)];
    return p50Us === undefined || p99Us === undefined ? undefined : { p50Us, p99Us };
  }
}
