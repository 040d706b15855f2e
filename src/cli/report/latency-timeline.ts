import { Int32Histogram } from 'hdr-histogram-js';
import { FIRST_SLOT_US, MOST_SLOTS, widerSlot } from './slot-width.ts';

/** A day, in microseconds. */
const HIGHEST_US = 8.64e10;

/** Two digits count: enough for a line on a chart. */
function emptyHistogram(): Int32Histogram {
  return new Int32Histogram(1, HIGHEST_US, 2);
}

/** The percentiles of one slot of time, in microseconds. */
export interface SlotPercentiles {
  /** When the slot begins. */
  readonly atUs: number;
  readonly p50: number;
  readonly p90: number;
  readonly p99: number;
  readonly max: number;
}

/** A {@link LatencyTimeline} as plain data: for each slot its values and how many there are of each. */
export interface LatencyTimelineRecord {
  readonly slotUs: number;
  readonly slots: readonly (readonly [slot: number, values: Float64Array, counts: Float64Array])[];
}

/** Latencies by time, in slots that grow with the time that has passed. */
export class LatencyTimeline {
  #slotUs = FIRST_SLOT_US;
  #slots = new Map<number, Int32Histogram>();

  record(atUs: number, latencyUs: number): void {
    this.#recordMany(Math.max(0, atUs), latencyUs, 1);
  }

  #recordMany(atUs: number, latencyUs: number, count: number): void {
    while (atUs >= MOST_SLOTS * this.#slotUs) this.#widen();
    const slot = Math.floor(atUs / this.#slotUs);
    let histogram = this.#slots.get(slot);
    if (histogram === undefined) {
      histogram = emptyHistogram();
      this.#slots.set(slot, histogram);
    }
    const us = Math.min(Math.max(0, Math.round(latencyUs)), HIGHEST_US);
    histogram.recordValueWithCount(us, count);
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
    this.#slotUs = wider;
  }

  /** Those slots in which there was something, in order. */
  percentiles(): readonly SlotPercentiles[] {
    return [...this.#slots]
      .sort(([a], [b]) => a - b)
      .map(([slot, histogram]) => ({
        atUs: slot * this.#slotUs,
        p50: histogram.getValueAtPercentile(50),
        p90: histogram.getValueAtPercentile(90),
        p99: histogram.getValueAtPercentile(99),
        max: histogram.maxValue,
      }));
  }

  toRecord(): LatencyTimelineRecord {
    const slots = [...this.#slots].map(([slot, histogram]) => {
      const values: number[] = [];
      const counts: number[] = [];
      const { recordedValuesIterator: recorded } = histogram;
      recorded.reset();
      while (recorded.hasNext()) {
        const { valueIteratedTo, countAddedInThisIterationStep } = recorded.next();
        // The end of a range of values that count as one: beyond the largest of them, as a rule.
        values.push(Math.min(valueIteratedTo, histogram.maxValue));
        counts.push(countAddedInThisIterationStep);
      }
      return [slot, Float64Array.from(values), Float64Array.from(counts)] as const;
    });
    return { slotUs: this.#slotUs, slots };
  }

  /** Adds what another thread recorded. */
  add({ slotUs, slots }: LatencyTimelineRecord): void {
    while (this.#slotUs < slotUs) this.#widen();
    for (const [slot, values, counts] of slots) {
      values.forEach((us, index) => {
        this.#recordMany(slot * slotUs, us, counts[index] ?? 0);
      });
    }
  }
}
