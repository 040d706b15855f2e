import { describe, expect, it } from 'vitest';
import {
  LatencyCounts,
  LatencyGauge,
  type ValueCounts,
} from '../../src/load/measure/latency-counts.ts';
import { LatencyTimeline } from '../../src/load/measure/latency-timeline.ts';
import { Tally } from '../../src/load/measure/tally.ts';
import { MOST_SLOTS, Timeline, widerSlot } from '../../src/load/measure/timeline.ts';

describe('Tally', () => {
  it('adds up the tallies of several threads without loss', () => {
    const total = new Tally();
    for (const thread of [1, 2, 3]) {
      const tally = new Tally();
      tally.counters.sent += 100;
      for (let i = 1; i <= 100; i += 1) tally.record('latency', thread * 1_000 + i);
      tally.countStatus(200);
      tally.countStatus(thread === 1 ? 404 : 302);
      tally.countError('timed out', `first of ${thread}`);
      // As it is sent between threads.
      total.add(structuredClone(tally.toRecord()));
    }
    expect(total.counters).toEqual({ sent: 300, succeeded: 5, failed: 4 });
    expect([...total.statusCodes]).toEqual([
      [200, 3],
      [404, 1],
      [302, 2],
    ]);
    expect([...total.errors.values()]).toEqual([
      { kind: 'timed out', count: 3, example: 'first of 1' },
    ]);
    const { latency, queued } = total.histograms;
    expect(latency.totalCount).toBe(300);
    expect(queued.totalCount).toBe(0);
    // Three significant digits are kept.
    expect(latency.maxValue).toBeGreaterThanOrEqual(3_100);
    expect(latency.maxValue).toBeLessThanOrEqual(3_103);
    expect(latency.getValueAtPercentile(50)).toBeGreaterThanOrEqual(2_050);
    expect(latency.getValueAtPercentile(50)).toBeLessThanOrEqual(2_052);
  });

  it('counts failures by kind and by the time when they were due', () => {
    const total = new Tally(1_000_000);
    for (const dueUs of [1_000_000, 1_003_500]) {
      const tally = new Tally(1_000_000);
      tally.countStatus(200, dueUs);
      tally.countStatus(503, dueUs);
      tally.countError('timed out', 'late', dueUs);
      tally.countError('timed out', 'late', dueUs - 5_000);
      // Of unknown time.
      tally.countStatus(500);
      total.add(structuredClone(tally.toRecord()));
    }
    const counts = [...total.failuresByTime].map(([kind, { counts }]) => [kind, counts]);
    expect(counts).toEqual([
      ['503', [1, 0, 0, 1]],
      ['timed out', [3, 0, 0, 1]],
    ]);
    const untimed = new Tally();
    untimed.countStatus(503, 1_000_000);
    expect(untimed.failuresByTime.size).toBe(0);
  });

  it('keeps the times of a limited number of kinds, which a task may make up', () => {
    const total = new Tally(0);
    for (const thread of [1, 2]) {
      const tally = new Tally(0);
      for (let at = 0; at < 300; at += 1) tally.countError(`E${thread}-${at}`, '', 0);
      expect(tally.failuresByTime.size).toBe(tally.errors.size);
      total.add(structuredClone(tally.toRecord()));
    }
    expect(total.failuresByTime.size).toBe(101);
    const counts = [...total.failuresByTime.values()].map(({ counts: [count = 0] }) => count);
    expect(counts.reduce((sum, count) => sum + count, 0)).toBe(600);
  });

  it("clamps values outside the histogram's range", () => {
    const tally = new Tally();
    tally.record('response', -1);
    tally.record('response', 1e15);
    expect(tally.histograms.response.totalCount).toBe(2);
    expect(tally.histograms.response.maxValue).toBeGreaterThan(3.5e9);
  });
});

/** Counts of these microseconds. */
function countsOf(...us: number[]): ValueCounts {
  const latencies = new LatencyCounts();
  for (const each of us) latencies.record(each);
  return latencies.take();
}

describe('counts of latencies', () => {
  it.each([0, 1, 15, 16, 31, 32, 100, 1_000, 123_456, 3.6e9, 7.2e9, 1e15])(
    'keeps %d microseconds within 1 %%',
    (us) => {
      const latencies = new LatencyCounts();
      latencies.record(us);
      const kept = latencies.histogram.getValueAtPercentile(50);
      expect(Math.abs(kept - us)).toBeLessThanOrEqual(Math.max(0.5, us / 100));
    },
  );

  it('clamps what is out of range', () => {
    const latencies = new LatencyCounts();
    for (const us of [-5, Number.NaN]) latencies.record(us);
    expect(latencies.histogram.getValueAtPercentile(100)).toBe(0);
    latencies.record(1e300);
    expect(latencies.histogram.getValueAtPercentile(100)).toBeGreaterThanOrEqual(2 ** 52);
  });

  it('finds a percentile by rank', () => {
    const latencies = new LatencyCounts();
    for (let us = 1; us <= 10; us += 1) latencies.record(us);
    expect([0, 10, 50, 51, 99].map((at) => latencies.histogram.getValueAtPercentile(at))).toEqual([
      1, 1, 5, 6, 10,
    ]);
  });

  it('starts again at nothing once taken', () => {
    const latencies = new LatencyCounts();
    latencies.record(5);
    expect(latencies.take()).toEqual(new Map([[5, 1]]));
    expect(latencies.total).toBe(0);
    expect(latencies.take()).toEqual(new Map());
  });
});

it('reads the percentiles of the last readings, of all threads together', () => {
  const gauge = new LatencyGauge(2);
  expect(gauge.read([countsOf()])).toBeUndefined();
  expect(gauge.read([countsOf(1, 1), countsOf(3)])).toEqual({ p50Us: 1, p99Us: 3 });
  expect(gauge.read([countsOf(5, 5, 5, 5)])).toEqual({ p50Us: 5, p99Us: 5 });
  expect(gauge.read([countsOf()])).toEqual({ p50Us: 5, p99Us: 5 });
  expect(gauge.read([countsOf()])).toBeUndefined();
});

describe('a timeline', () => {
  it('has slots of 1, 2, 10, 20, 100, ... milliseconds', () => {
    const widths = [1_000];
    for (let at = 0; at < 7; at += 1) widths.push(widerSlot(widths.at(-1) ?? 0));
    expect(widths.map((us) => us / 1_000)).toEqual([1, 2, 10, 20, 100, 200, 1_000, 2_000]);
  });

  it('counts events in slots of a millisecond as long as those suffice', () => {
    const timeline = new Timeline();
    for (const us of [0, 999, 1_000, 3_500]) timeline.add(us);
    expect([timeline.slotUs, timeline.counts]).toEqual([1_000, [2, 1, 0, 1]]);
  });

  it('merges slots over time without losing a count', () => {
    const timeline = new Timeline();
    const seconds = 100;
    for (let ms = 0; ms < seconds * 1_000; ms += 1) timeline.add(ms * 1_000);
    const { slotUs, counts } = timeline;
    expect(counts.length).toBeLessThanOrEqual(MOST_SLOTS);
    expect(counts).toEqual(new Array((seconds * 1e6) / slotUs).fill(slotUs / 1_000));
  });

  it('adds up the timelines of several threads, whatever their slots', () => {
    const [one, other] = [new Timeline(), new Timeline()];
    for (const us of [0, 1_000, 1_500]) one.add(us);
    other.add(MOST_SLOTS * 1_000, 3);
    one.addAll(structuredClone(other.toRecord()));
    expect(one.slotUs).toBe(2_000);
    expect(one.counts.map((count, slot) => [slot, count]).filter(([, count]) => count)).toEqual([
      [0, 3],
      [MOST_SLOTS / 2, 3],
    ]);
    other.addAll(new Timeline().toRecord());
    expect(other.counts.reduce((sum, count) => sum + count)).toBe(3);
  });

  it('can be widened to the slots of another timeline', () => {
    const timeline = new Timeline();
    for (const ms of [0, 1, 2, 11, 25]) timeline.add(ms * 1_000);
    timeline.widenTo(10_000);
    expect(timeline.counts).toEqual([3, 1, 1]);
  });
});

const slot = (startsAfterMs: number, endsAfterMs: number, count: number, latencies: object) => ({
  startsAfterMs,
  endsAfterMs,
  count,
  ...latencies,
});

describe('a timeline of latencies', () => {
  it('returns the percentiles of each slot', () => {
    const timeline = new LatencyTimeline();
    for (let us = 1; us <= 100; us += 1) timeline.record(5_000, us);
    timeline.record(9_000, 7);
    expect(timeline.slotsOf()).toEqual([
      slot(5, 6, 100, { p50Ms: 0.05, p90Ms: 0.09, p99Ms: null, maxMs: 0.1 }),
      slot(9, 10, 1, { p50Ms: 0.007, p90Ms: null, p99Ms: null, maxMs: 0.007 }),
    ]);
  });

  it('merges slots over time', () => {
    const timeline = new LatencyTimeline();
    timeline.record(0, 10);
    timeline.record(1_000, 20);
    timeline.record(MOST_SLOTS * 1_000, 30);
    expect(timeline.slotsOf().map(({ startsAfterMs, maxMs }) => [startsAfterMs, maxMs])).toEqual([
      [0, 0.02],
      [MOST_SLOTS, 0.03],
    ]);
  });

  it('joins neighbours until each slot has enough values', () => {
    const timeline = new LatencyTimeline();
    for (let ms = 0; ms < 300; ms += 1) timeline.record(ms * 1_000, ms % 50);
    const slots = timeline.slotsOf(50);
    expect(
      slots.map(({ startsAfterMs, endsAfterMs, count }) => [startsAfterMs, endsAfterMs, count]),
    ).toEqual([
      [0, 100, 100],
      [100, 200, 100],
      [200, 300, 100],
    ]);
    expect(slots[0]).toMatchObject({ p50Ms: 0.024, maxMs: 0.049 });
  });

  /** A timeline of this many latencies at each of these milliseconds. */
  function timelineOf(...slots: readonly (readonly [ms: number, count: number])[]) {
    const timeline = new LatencyTimeline();
    for (const [ms, count] of slots) {
      for (let value = 1; value <= count; value += 1) timeline.record(ms * 1_000, value);
    }
    return timeline.slotsOf(30).map((slot) => [slot.startsAfterMs, slot.endsAfterMs, slot.count]);
  }

  it('joins a slot of too few values to what follows', () => {
    expect(timelineOf([0, 100], [100, 3], [200, 100], [300, 100])).toEqual([
      [0, 1, 100],
      [100, 201, 103],
      [300, 301, 100],
    ]);
  });

  it('joins a last slot of too few values to the one before it', () => {
    expect(timelineOf([0, 40], [2, 40], [390, 5])).toEqual([[0, 391, 85]]);
    expect(timelineOf([0, 1])).toEqual([[0, 1, 1]]);
    expect(timelineOf()).toEqual([]);
  });

  it('adds up the timelines of several threads, whatever their slots', () => {
    const [whole, one, other] = [1, 2, 3].map(() => new LatencyTimeline());
    for (let ms = 0; ms < 2_000; ms += 1) {
      whole?.record(ms * 1_000, ms);
      (ms < 300 ? one : other)?.record(ms * 1_000, ms);
    }
    const sum = new LatencyTimeline();
    for (const part of [one, other])
      if (part !== undefined) sum.addAll(structuredClone(part.toRecord()));
    expect(sum.slotsOf()).toEqual(whole?.slotsOf());
  });

  it('clamps values out of range', () => {
    const timeline = new LatencyTimeline();
    timeline.record(-5, -1);
    expect(timeline.slotsOf()).toEqual([
      slot(0, 1, 1, { p50Ms: 0, p90Ms: null, p99Ms: null, maxMs: 0 }),
    ]);
  });
});
