import { Int32Histogram } from 'hdr-histogram-js';

/** An hour, in microseconds. Higher values are clamped. */
export const HIGHEST_US = 3.6e9;
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
    for (const [us, count] of this.#counts) histogram.recordValueWithCount(us, count);
    return histogram;
  }
}

/** A latency without the bits that are not kept. */
function keptOf(us: number): number {
  const whole = us > 0 ? Math.min(Math.round(us), HIGHEST_US) : 0;
  const dropped = Math.max(0, 32 - KEPT_BITS - Math.clz32(whole));
  return ((whole >>> dropped) << dropped) >>> 0;
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
