import { RecentLatencies } from './recent-latencies.ts';

/** Percentiles of recent latencies. */
export interface RecentPercentiles {
  /** In microseconds, within about 3 %. */
  readonly p50Us: number;
  readonly p99Us: number;
}

/** Percentiles over the last few readings. */
export class LatencyGauge {
  readonly #length: number;
  readonly #window: (readonly Uint32Array[])[] = [];

  /** @param length number of readings to cover */
  constructor(length: number) {
    this.#length = length;
  }

  /** @param counts each thread's counts since the last reading */
  read(counts: readonly Uint32Array[]): RecentPercentiles | undefined {
    this.#window.push(counts);
    if (this.#window.length > this.#length) this.#window.shift();
    const all = new RecentLatencies();
    for (const each of this.#window.flat()) all.add(each);
    const [p50Us, p99Us] = [all.percentile(50), all.percentile(99)];
    return p50Us === undefined || p99Us === undefined ? undefined : { p50Us, p99Us };
  }
}
