import { describe, expect, it } from 'vitest';
import { RateMeter } from '../../src/load/measure/admissions.ts';

const SECOND = 1e6;
const START = 5 * SECOND;

describe('RateMeter', () => {
  it('averages the last fully reported second', () => {
    const meter = new RateMeter(START);
    expect(meter.rateAt(START - SECOND)).toBeUndefined();
    expect(meter.rateAt(START + SECOND / 4)).toBeUndefined();
    // 100/s for two seconds, then 300/s; in two pieces, out of order.
    meter.add(
      Float64Array.from({ length: 900 }, (_, i) => START + 2 * SECOND + (i * SECOND) / 300),
    );
    meter.add(Float64Array.from({ length: 200 }, (_, i) => START + (i * SECOND) / 100));
    expect(meter.admitted).toBe(1_100);
    expect(meter.rateAt(START + 0.8 * SECOND)).toBeCloseTo(100, 5);
    expect(meter.rateAt(START + 2.5 * SECOND)).toBeCloseTo(100, 5);
    expect(meter.rateAt(START + 3 * SECOND)).toBeCloseTo(200, 5);
    expect(meter.rateAt(START + 3.5 * SECOND)).toBeCloseTo(300, 5);
  });

  it.each([
    [[], 300, [0, 0, 0]],
    [[0, 99, 100, 290], 300, [2, 1, 1]],
    [[0, 290], 250, [1, 0, 1]],
    [[], 0, []],
    [[], -1, []],
  ])('counts %j ms until %d ms per 100 ms: %j', (instantsMs, endMs, counts) => {
    const meter = new RateMeter(START);
    meter.add(Float64Array.from(instantsMs, (ms) => START + ms * 1_000));
    expect(meter.countsUntil(START + endMs * 1_000)).toEqual(counts);
  });
});
