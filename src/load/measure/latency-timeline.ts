import { Int32Histogram, type JsHistogram } from 'hdr-histogram-js';
import { FIRST_SLOT_US, MOST_SLOTS, widerSlot } from './timeline.ts';

/** An hour, in microseconds. Higher values are clamped. */
export const HIGHEST_US = 3.6e9;
/** Two significant digits are enough for a chart. */
export const DIGITS = 2;

/** The values of a histogram, and how many there are of each, as plain data. */
export type ValueCounts = readonly [values: Float64Array, counts: Float64Array];

export function valueCounts(histogram: JsHistogram): ValueCounts {
  const values: number[] = [];
  const counts: number[] = [];
  const { recordedValuesIterator: recorded } = histogram;
  recorded.reset();
  while (recorded.hasNext()) {
    const { valueIteratedTo, countAddedInThisIterationStep } = recorded.next();
    // The iterator returns the upper end of a histogram bucket, which can exceed the largest value.
    values.push(Math.min(valueIteratedTo, histogram.maxValue));
    counts.push(countAddedInThisIterationStep);
  }
  return [Float64Array.from(values), Float64Array.from(counts)];
}

/** The latencies of a part of a run. */
export interface LatencySlot {
  /** Calls due from here, in milliseconds since the start... */
  readonly startsAfterMs: number;
  /** ...until here. */
  readonly endsAfterMs: number;
  /** The number of these calls. */
  readonly count: number;
  /** Their median latency. */
  readonly p50Ms: number;
  /** Their p90 latency; null if the calls are so few that it would be their maximum. */
  readonly p90Ms: number | null;
  /** Their p99 latency, likewise. */
  readonly p99Ms: number | null;
  /** Their longest latency. */
  readonly maxMs: number;
}

/** Calls in a slot that a percentile needs to differ from the maximum. */
export const LEAST_FOR = { p99: 110, p90: 12, p50: 1 } as const;
/** With fewer slots, a chart shows no course: slots are then narrower, with fewer percentiles. */
const LEAST_SLOTS = 4;

/** A {@link LatencyTimeline} as plain data: each slot's values and their counts. */
export interface LatencyTimelineRecord {
  readonly slotUs: number;
  readonly slots: readonly (readonly [slot: number, ...ValueCounts])[];
}

/** Several consecutive slots as one, from `from` to before `until`. */
interface JoinedSlots {
  readonly histogram: Int32Histogram;
  readonly from: number;
  until: number;
}

/** Latencies over time, in slots that widen as the run gets longer. */
export class LatencyTimeline {
  #slotUs = FIRST_SLOT_US;
  #slots = new Map<number, Int32Histogram>();
  /** Cache: consecutive values usually fall into the same slot. */
  #latest: { readonly slot: number; readonly histogram: Int32Histogram } | undefined;
  readonly #highestUs: number;
  readonly #digits: 2 | 3;

  /** Values above `highestUs` are clamped to it; a lower bound saves memory. */
  constructor({ highestUs = HIGHEST_US, digits = DIGITS as 2 | 3 } = {}) {
    // The library requires an integer of at least 2.
    this.#highestUs = Math.max(2, Math.ceil(highestUs));
    this.#digits = digits;
  }

  #emptyHistogram(): Int32Histogram {
    return new Int32Histogram(1, this.#highestUs, this.#digits);
  }

  record(atUs: number, latencyUs: number): void {
    this.#recordMany(Math.max(0, atUs), latencyUs, 1);
  }

  #recordMany(atUs: number, latencyUs: number, count: number): void {
    while (atUs >= MOST_SLOTS * this.#slotUs) this.#widen();
    const slot = Math.floor(atUs / this.#slotUs);
    const us = Math.min(Math.max(0, Math.round(latencyUs)), this.#highestUs);
    if (this.#latest?.slot !== slot) this.#latest = { slot, histogram: this.#histogramOf(slot) };
    this.#latest.histogram.recordValueWithCount(us, count);
  }

  #histogramOf(slot: number): Int32Histogram {
    const known = this.#slots.get(slot);
    if (known !== undefined) return known;
    const histogram = this.#emptyHistogram();
    this.#slots.set(slot, histogram);
    return histogram;
  }

  /** The sum of all slots. */
  total(): Int32Histogram {
    const sum = this.#emptyHistogram();
    for (const histogram of this.#slots.values()) sum.add(histogram);
    return sum;
  }

  #widen(): void {
    const wider = widerSlot(this.#slotUs);
    const joined = wider / this.#slotUs;
    const slots = new Map<number, Int32Histogram>();
    for (const [slot, histogram] of this.#slots) {
      const into = slots.get(Math.floor(slot / joined));
      if (into === undefined) slots.set(Math.floor(slot / joined), histogram);
      else into.add(histogram);
    }
    this.#slots = slots;
    this.#latest = undefined;
    this.#slotUs = wider;
  }

  /** The slots with the most percentiles of which there are enough. */
  slots(): readonly LatencySlot[] {
    const byP99 = this.slotsOf(LEAST_FOR.p99);
    if (byP99.length >= LEAST_SLOTS) return byP99;
    const byP90 = this.slotsOf(LEAST_FOR.p90);
    return byP90.length >= LEAST_SLOTS ? byP90 : this.slotsOf(LEAST_FOR.p50);
  }

  /**
   * All non-empty slots, in order. Neighbours are joined until each slot has at least `least`
   * values, or all values are in one slot.
   */
  slotsOf(least = 1): readonly LatencySlot[] {
    const slots = [...this.#slots].sort(([a], [b]) => a - b);
    const width = this.#joinedSlots(least);
    const joined: JoinedSlots[] = [];
    const join = (slot: number, histogram: Int32Histogram, group = joined.at(-1)) => {
      group?.histogram.add(histogram);
      if (group !== undefined) group.until = slot + 1;
    };
    for (const [slot, histogram] of slots) {
      const group = joined.at(-1);
      const isOpen =
        group !== undefined &&
        (group.histogram.totalCount < least ||
          Math.floor(group.from / width) === Math.floor(slot / width));
      if (!isOpen) joined.push({ histogram: this.#emptyHistogram(), from: slot, until: slot });
      join(slot, histogram);
    }
    if (joined.length > 1 && (joined.at(-1)?.histogram.totalCount ?? least) < least) {
      const last = joined.pop();
      if (last !== undefined) join(last.until - 1, last.histogram);
    }
    return joined.map((group) => this.#slotOf(group));
  }

  #slotOf({ histogram, from, until }: JoinedSlots): LatencySlot {
    const { totalCount: count, maxValue } = histogram;
    const at = (percentile: number) => histogram.getValueAtPercentile(percentile) / 1_000;
    return {
      startsAfterMs: (from * this.#slotUs) / 1_000,
      endsAfterMs: (until * this.#slotUs) / 1_000,
      count,
      p50Ms: at(50),
      p90Ms: count < LEAST_FOR.p90 ? null : at(90),
      p99Ms: count < LEAST_FOR.p99 ? null : at(99),
      maxMs: maxValue / 1_000,
    };
  }

  /** Aim for twice the values needed, so that chance does not lead to slots of different widths. */
  #joinedSlots(least: number): number {
    if (least <= 1) return 1;
    let count = 0;
    for (const histogram of this.#slots.values()) count += histogram.totalCount;
    const slots = Math.max(...this.#slots.keys()) + 1;
    return Math.max(1, Math.ceil((2 * least * slots) / count));
  }

  toRecord(): LatencyTimelineRecord {
    const slots = [...this.#slots].map(
      ([slot, histogram]) => [slot, ...valueCounts(histogram)] as const,
    );
    return { slotUs: this.#slotUs, slots };
  }

  /** Adds the record of another thread. */
  add({ slotUs, slots }: LatencyTimelineRecord): void {
    while (this.#slotUs < slotUs) this.#widen();
    for (const [slot, values, counts] of slots) {
      values.forEach((us, index) => {
        this.#recordMany(slot * slotUs, us, counts[index] ?? 0);
      });
    }
  }
}
