import { describe, expect, it } from 'vitest';
import { TokenBucket } from '../../src/limiters/token-bucket.ts';
import { AdmissionWatch } from '../../src/load/measure/admissions.ts';
import { ManualClock } from '../../src/time/manual-clock.ts';

const SECOND = 1e6;
const STEP_US = 100_000;
const END = Number.POSITIVE_INFINITY;

describe('AdmissionWatch', () => {
  it('counts, times and checks the admissions of all threads', () => {
    const watch = new AdmissionWatch({ threads: 2, startUs: 0, rate: 10, burst: 1 });
    expect([watch.lastUs, watch.guarantee.held]).toEqual([undefined, true]);
    watch.add(0, Float64Array.of(0, 2e5), END);
    watch.add(1, Float64Array.of(1e5), END);
    expect(watch.meter.admitted).toBe(3);
    expect(watch.lastUs).toBe(2e5);
    expect(watch.meter.countsUntil(3e5)).toEqual([1, 1, 1]);
    expect(watch.meter.rateAt(1.5 * SECOND)).toBe(3);
    expect(watch.guarantee).toMatchObject({ held: true, intervals: 6 });
    watch.add(1, new Float64Array(), END);
    expect(watch.lastUs).toBe(2e5);
  });

  it('checks the admissions of a warm-up, and does not count them', () => {
    const watch = new AdmissionWatch({ threads: 1, startUs: SECOND, rate: 10, burst: 1 });
    expect(watch.add(0, Float64Array.of(8e5, 9e5), 9.1e5)).toBe(0);
    expect(watch.add(0, Float64Array.of(1e6, 1.1e6), END)).toBe(2);
    expect(watch.meter.admitted).toBe(2);
    expect(watch.meter.countsUntil(1.2e6)).toEqual([1, 1]);
    expect(watch.guarantee).toMatchObject({ held: true, intervals: 10 });
  });

  it("finds one request too many between two threads' reports", () => {
    const watch = new AdmissionWatch({ threads: 2, startUs: 0, rate: 10, burst: 1 });
    watch.add(0, Float64Array.of(1 * SECOND), 2 * SECOND);
    watch.add(1, Float64Array.of(0.95 * SECOND), END);
    watch.add(0, new Float64Array(), END);
    expect(watch.guarantee).toMatchObject({ held: false, tightest: { admitted: 2 } });
  });

  /** A bucket whose rate rises for `seconds` to `rate`, in ten steps a second. */
  function ramp(seconds: number, rate: number, excess: number) {
    const clock = ManualClock.create({ nowMs: 1e6 });
    const bucket = TokenBucket.create({ rate: rate / 10, burst: 1, clock });
    const startUs = clock.now();
    const watch = new AdmissionWatch({ threads: 1, startUs, rate: bucket.rate, burst: 1 });
    let next = bucket.reserve();
    for (let step = 1; step <= seconds * 10; step += 1) {
      const untilUs = startUs + step * STEP_US;
      const instants: number[] = [];
      while (next !== undefined && next.dueUs <= untilUs) {
        instants.push(next.dueUs);
        clock.set(next.dueUs / 1_000);
        next = bucket.reserve();
      }
      if (step === excess) instants.push(untilUs);
      clock.set(untilUs / 1_000);
      watch.add(0, Float64Array.from(instants), untilUs);
      const changed = rate / 10 + (0.9 * rate * step) / (seconds * 10);
      bucket.reconfigure({ rate: changed });
      watch.change(changed, untilUs, untilUs);
      void next?.dueUs;
    }
    watch.add(0, new Float64Array(), END);
    return watch;
  }

  it('holds over the thousands of changes of a long ramp, and notices one request too many', () => {
    const watch = ramp(600, 50, -1);
    expect(watch.meter.admitted).toBeGreaterThan(16_000);
    expect(watch.guarantee).toMatchObject({ held: true });
    expect(watch.guarantee.tightest?.admitted).toBeGreaterThan(1);
    expect(ramp(600, 50, 5_990).guarantee.held).toBe(false);
  });
});
