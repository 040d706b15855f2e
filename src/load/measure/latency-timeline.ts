import { LatencyCounts, type ValueCounts } from './latency-counts.ts';
import { SlotValues } from './timeline.ts';

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

/** Several consecutive slots as one, from `from` to before `until`. */
interface JoinedSlots {
  readonly counts: LatencyCounts;
  readonly from: number;
  until: number;
}

/** Latencies over time, in slots that widen as the run gets longer. */
export class LatencyTimeline extends SlotValues<LatencyCounts, ValueCounts> {
  protected dataOf({ counts }: LatencyCounts): ValueCounts {
    return counts;
  }

  protected joined(latencies = new LatencyCounts(), others: ValueCounts): LatencyCounts {
    latencies.add(others);
    return latencies;
  }

  record(atUs: number, latencyUs: number): void {
    const slot = this.slotAt(Math.max(0, atUs));
    this.values[slot] ??= new LatencyCounts();
    this.values[slot].record(latencyUs);
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
    const width = this.#joinedSlots(least);
    const joined: JoinedSlots[] = [];
    for (const [slot, counts] of this.#slots()) {
      const group = joined.at(-1);
      const isOpen =
        group !== undefined &&
        (group.counts.total < least || Math.floor(group.from / width) === Math.floor(slot / width));
      const into = isOpen ? group : { counts: new LatencyCounts(), from: slot, until: slot };
      if (!isOpen) joined.push(into);
      into.counts.add(counts.counts);
      into.until = slot + 1;
    }
    const [before, last] = joined.slice(-2);
    if (before !== undefined && last !== undefined && last.counts.total < least) {
      before.counts.add(last.counts.counts);
      before.until = last.until;
      joined.pop();
    }
    return joined.map((group) => this.#slotOf(group));
  }

  /** How many latencies each slot has, and how many of them are above this one. */
  above(us: number): { readonly count: number; readonly above: number }[] {
    return Array.from(this.values, (counts) => ({
      count: counts?.total ?? 0,
      above: counts?.above(us) ?? 0,
    }));
  }

  /** Those with a value. */
  #slots(): (readonly [slot: number, counts: LatencyCounts])[] {
    return [...this.values.entries()].flatMap(([slot, counts]) =>
      counts === undefined ? [] : [[slot, counts] as const],
    );
  }

  #slotOf({ counts, from, until }: JoinedSlots): LatencySlot {
    const { histogram } = counts;
    const { totalCount: count, maxValue } = histogram;
    const at = (percentile: number) =>
      Math.min(histogram.getValueAtPercentile(percentile), maxValue) / 1_000;
    return {
      startsAfterMs: (from * this.slotUs) / 1_000,
      endsAfterMs: (until * this.slotUs) / 1_000,
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
    const count = this.#slots().reduce((sum, [, counts]) => sum + counts.total, 0);
    return Math.max(1, Math.ceil((2 * least * this.values.length) / count));
  }
}
