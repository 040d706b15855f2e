import { Int32Histogram } from 'hdr-histogram-js';

/** An hour, in microseconds. Histograms of a load clamp higher values. */
export const HIGHEST_US = 3.6e9;
/** Over a century, in microseconds. Integers are exact up to here, and higher values are clamped. */
export const LONGEST_US = 2 ** 52;
/** The leading bits that are kept of a value: enough for two significant digits. */
const KEPT_BITS = 8;
const DIGITS = 2;

/** Latencies, and how many there are of each, as plain data. */
export type ValueCounts = ReadonlyMap<number, number>;

/**
 * Counts latencies to 1 %, enough for a chart. Unlike a histogram it holds only those that occur: a
 * thread makes many of them, and adds them up, between two requests.
 */
export class LatencyCounts {
  #counts = new Map<number, number>();
  #total = 0;

  get counts(): ValueCounts {
    return this.#counts;
  }

  /** The number of latencies. */
  get total(): number {
    return this.#total;
  }

  /** How many latencies are above this one, to the precision of these counts. */
  above(us: number): number {
    const bound = keptOf(us);
    let above = 0;
    for (const [value, count] of this.#counts) if (value > bound) above += count;
    return above;
  }

  record(us: number, count = 1): void {
    const value = keptOf(us);
    this.#counts.set(value, (this.#counts.get(value) ?? 0) + count);
    this.#total += count;
  }

  add(counts: ValueCounts): void {
    for (const [us, count] of counts) this.record(us, count);
  }

  /** Returns all counts and resets them. */
  take(): ValueCounts {
    const counts = this.#counts;
    this.#counts = new Map();
    this.#total = 0;
    return counts;
  }

  get histogram(): Int32Histogram {
    const histogram = new Int32Histogram(1, HIGHEST_US, DIGITS);
    histogram.autoResize = true;
    for (const [us, count] of this.#counts) histogram.recordValueWithCount(us, count);
    return histogram;
  }
}

/** A latency without the bits that are not kept. */
function keptOf(us: number): number {
  const whole = us > 0 ? Math.min(Math.round(us), LONGEST_US) : 0;
  const bits = whole < 2 ** 32 ? 32 - Math.clz32(whole) : 1 + Math.floor(Math.log2(whole));
  const unit = 2 ** Math.max(0, bits - KEPT_BITS);
  return Math.floor(whole / unit) * unit;
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
    const all = new LatencyCounts();
    for (const each of this.#window.flat()) all.add(each);
    if (all.total === 0) return undefined;
    const { histogram } = all;
    const at = (percentile: number) => histogram.getValueAtPercentile(percentile);
    return { p50Us: at(50), p99Us: at(99) };
  }
}
