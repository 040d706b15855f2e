import { describe, expect, it } from 'vitest';
import {
  LatencyCounts,
  LatencyGauge,
  type ValueCounts,
} from '../../src/load/measure/latency-counts.ts';
import { Tally } from '../../src/load/measure/tally.ts';

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
  it.each([0, 1, 15, 16, 31, 32, 100, 1_000, 123_456, 3.6e9])(
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
    expect(latencies.histogram.getValueAtPercentile(100)).toBeGreaterThanOrEqual(3.6e9);
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
    expect(latencies.take()).toEqual([Float64Array.of(5), Float64Array.of(1)]);
    expect(latencies.total).toBe(0);
    expect(latencies.take()).toEqual([new Float64Array(), new Float64Array()]);
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
