import { describe, expect, it } from 'vitest';
import type { ValueCounts } from '../../src/load/measure/latency-timeline.ts';
import { LatencyGauge, RecentLatencies } from '../../src/load/measure/recent-latencies.ts';

/** Counts of these microseconds. */
function countsOf(...us: number[]): ValueCounts {
  const latencies = new RecentLatencies();
  for (const each of us) latencies.record(each);
  return latencies.take();
}

describe('recent latencies', () => {
  it.each([0, 1, 15, 16, 31, 32, 100, 1_000, 123_456, 3.6e9])(
    'keeps %d microseconds within 1 %%',
    (us) => {
      const latencies = new RecentLatencies();
      latencies.record(us);
      const kept = latencies.percentile(50) ?? Number.NaN;
      expect(Math.abs(kept - us)).toBeLessThanOrEqual(Math.max(0.5, us / 100));
    },
  );

  it('clamps what is out of range', () => {
    const latencies = new RecentLatencies();
    for (const us of [-5, Number.NaN]) latencies.record(us);
    expect(latencies.percentile(100)).toBe(0);
    latencies.record(1e300);
    expect(latencies.percentile(100)).toBeGreaterThanOrEqual(3.6e9);
  });

  it('finds a percentile by rank', () => {
    const latencies = new RecentLatencies();
    expect(latencies.percentile(50)).toBeUndefined();
    for (let us = 1; us <= 10; us += 1) latencies.record(us);
    expect([0, 10, 50, 51, 99].map((percentile) => latencies.percentile(percentile))).toEqual([
      1, 1, 5, 6, 10,
    ]);
  });

  it('starts again at nothing once taken', () => {
    const latencies = new RecentLatencies();
    latencies.record(5);
    expect(latencies.take()).toEqual([Float64Array.of(5), Float64Array.of(1)]);
    expect(latencies.percentile(50)).toBeUndefined();
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
