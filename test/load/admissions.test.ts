import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { TokenBucket } from '../../src/limiters/token-bucket.ts';
import { AdmissionMerge, AdmissionWatch } from '../../src/load/measure/admissions.ts';
import { ManualClock } from '../../src/time/manual-clock.ts';

const SECOND = 1e6;
const END = Number.POSITIVE_INFINITY;

/** Collects what is released. */
function merging(threads: number): { merge: AdmissionMerge; released: number[] } {
  const released: number[] = [];
  return { merge: new AdmissionMerge(threads, (instants) => released.push(...instants)), released };
}

describe('AdmissionMerge', () => {
  it('releases an instant once no thread can precede it', () => {
    const { merge, released } = merging(2);
    merge.add(0, Float64Array.of(1 * SECOND, 3 * SECOND), 4 * SECOND);
    expect(released).toEqual([]);
    merge.add(1, Float64Array.of(2 * SECOND), 2.5 * SECOND);
    expect(released).toEqual([1 * SECOND, 2 * SECOND]);
    merge.add(1, Float64Array.of(2.6 * SECOND), END);
    expect(released).toEqual([1 * SECOND, 2 * SECOND, 2.6 * SECOND, 3 * SECOND]);
    merge.add(0, Float64Array.of(5 * SECOND), END);
    expect(released.at(-1)).toBe(5 * SECOND);
  });

  it('holds an instant that equals the bound, because others may equal it too', () => {
    const { merge, released } = merging(1);
    merge.add(0, Float64Array.of(1, 2), 2);
    expect(released).toEqual([1]);
  });

  it('counts an instant that breaks its promise at the latest one released', () => {
    const { merge, released } = merging(1);
    merge.add(0, Float64Array.of(1 * SECOND), 2 * SECOND);
    merge.add(0, Float64Array.of(1.5 * SECOND, 3 * SECOND), END);
    expect(released).toEqual([1 * SECOND, 2 * SECOND, 3 * SECOND]);
  });

  it('holds what a change may have overtaken while the main thread was preempted', () => {
    const { merge, released } = merging(1);
    merge.change(1 * SECOND, 1.5 * SECOND);
    merge.add(0, Float64Array.of(0.5 * SECOND, 1.1 * SECOND), 1.4 * SECOND);
    expect(released).toEqual([0.5 * SECOND]);
    // Due after 1.4 s until the change took effect.
    merge.add(0, Float64Array.of(1.3 * SECOND, 1.6 * SECOND), 2 * SECOND);
    expect(released).toEqual([0.5, 1.1, 1.3, 1.6].map((seconds) => seconds * SECOND));
  });

  it('yields the sorted log of all threads, however they report', () => {
    const instants = fc.array(fc.integer({ min: 0, max: 5 * SECOND }), { maxLength: 50 });
    const run = fc.tuple(
      fc.array(instants, { minLength: 1, maxLength: 4 }),
      fc.infiniteStream(fc.nat()),
    );
    fc.assert(
      fc.property(run, ([threads, choice]) => {
        const { merge, released } = merging(threads.length);
        const logs = threads.map((log) => log.toSorted((a, b) => a - b));
        const all = logs.flat().sort((a, b) => a - b);
        const running = logs.map((log, thread) => ({ log, thread }));
        while (running.length > 0) {
          const at = choice.next().value % running.length;
          const { log, thread } = running[at] as (typeof running)[number]; // in bounds
          const piece = log.splice(0, choice.next().value % 8);
          merge.add(thread, Float64Array.from(piece), log[0] ?? END);
          if (log.length === 0) running.splice(at, 1);
        }
        expect(released).toEqual(all);
      }),
    );
  });
});

const STEP_US = 100_000;

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
