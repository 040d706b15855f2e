/** Buckets per power of two: the relative error is at most 1/32. */
const PARTS = 16;
const PARTS_BITS = 4;
const HIGHEST_US = 2 ** 32 - 1;
const BUCKETS = PARTS * (32 - PARTS_BITS + 1);

function bucketOf(us: number): number {
  // Also handles NaN, for which every comparison is false.
  if (!(us >= 1)) return 0;
  const whole = us >= HIGHEST_US ? HIGHEST_US : Math.floor(us);
  if (whole < PARTS) return whole;
  const shift = 31 - Math.clz32(whole) - PARTS_BITS;
  return PARTS * (shift + 1) + (whole >>> shift) - PARTS;
}

function middleOf(bucket: number): number {
  if (bucket < PARTS) return bucket;
  const shift = Math.floor(bucket / PARTS) - 1;
  return (PARTS + (bucket % PARTS) + 0.5) * 2 ** shift;
}

/** Counts latencies in few buckets, cheap enough to report four times a second. */
export class RecentLatencies {
  #counts = new Uint32Array(BUCKETS);

  record(us: number): void {
    const bucket = bucketOf(us);
    this.#counts[bucket] = (this.#counts[bucket] ?? 0) + 1;
  }

  add(counts: Uint32Array): void {
    counts.forEach((count, bucket) => {
      this.#counts[bucket] = (this.#counts[bucket] ?? 0) + count;
    });
  }

  /** Returns the counts of all buckets and resets them. */
  take(): Uint32Array {
    const counts = this.#counts;
    this.#counts = new Uint32Array(BUCKETS);
    return counts;
  }

  /** The approximate percentile in microseconds; undefined if nothing was recorded. */
  percentile(percentile: number): number | undefined {
    const total = this.#counts.reduce((sum, count) => sum + count, 0);
    if (total === 0) return undefined;
    const rank = Math.max(1, Math.ceil((percentile / 100) * total));
    let below = 0;
    const bucket = this.#counts.findIndex((count) => {
      below += count;
      return below >= rank;
    });
    return middleOf(bucket);
  }
}

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
