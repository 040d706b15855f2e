import { afterEach, describe, expect, it } from 'vitest';
import { ManualClock, Region, SlidingLog } from '../../src/index.ts';
import { WINDOW } from '../../src/memory/layout.ts';
import { Preemption } from '../support/preemption.ts';

/** 1/16 microsecond, in milliseconds. */
const TICK_MS = 1 / 16_000;

describe('SlidingLog', () => {
  it('admits again one interval after each admission, to the tick', () => {
    const clock = ManualClock.create();
    const log = SlidingLog.create({ limit: 3, intervalMs: 100, clock });
    const steps: [atMs: number, n: number, admitted: boolean, left: number][] = [
      [0, 1, true, 2],
      [30, 2, true, 0],
      [100 - TICK_MS, 1, false, 0],
      [100, 1, true, 0],
      [130 - TICK_MS, 1, false, 0],
      [130, 2, true, 0],
      // After a step back, every entry is too recent.
      [50, 1, false, 0],
      [200, 2, false, 1],
      [230 - TICK_MS, 3, false, 1],
      [230, 3, true, 0],
      [10_000, 3, true, 0],
      [10_000, 4, false, 0],
    ];
    const seen = steps.map(([atMs, n]) => {
      clock.set(atMs);
      const admitted = log.tryConsume(n);
      return [atMs, n, admitted, log.available()];
    });
    expect(seen).toEqual(steps);
  });

  it('reports when enough of the oldest admissions will have expired', () => {
    const clock = ManualClock.create();
    const log = SlidingLog.create({ limit: 4, intervalMs: 100, clock });
    for (const atMs of [0, 30, 55, 80]) {
      clock.set(atMs);
      log.tryConsume();
    }
    const retries = [1, 2, 3, 4, 5].map((n) => log.decide(n).retryAfterMs);
    expect(retries).toEqual([20, 50, 75, 100, Number.POSITIVE_INFINITY]);
    expect(log.decide().resetMs).toBe(100);
  });

  it('admits a steady overload at the limit', () => {
    const clock = ManualClock.create();
    const log = SlidingLog.create({ limit: 10, intervalMs: 1_000, clock });
    let admitted = 0;
    for (let ms = 0; ms < 100_000; ms += 10) {
      clock.set(ms);
      if (log.tryConsume()) admitted++;
    }
    expect(admitted).toBe(1_000);
  });

  it('admits its limit when new, even if the clock then steps back two years', () => {
    const clock = ManualClock.create({ nowMs: 0 });
    const log = SlidingLog.create({ limit: 2, intervalMs: 1e11, clock });
    clock.set(-2 * 365.25 * 86_400_000);
    expect(log.consumeOrDrain(3)).toBe(2);
    clock.set(0);
    expect(log.available()).toBe(0);
  });

  it('takes 576 bytes plus 8 per unit of the limit', () => {
    const region = Region.create({ bytes: 1_000_000 });
    const before = region.bytesFree;
    SlidingLog.create({ limit: 10_000, intervalMs: 1, region });
    expect(before - region.bytesFree).toBe(80_000 + 576);
  });

  it('works for 12 years, at one admission per interval', () => {
    for (const limit of [1, 2, 1_000]) {
      const clock = ManualClock.create();
      const log = SlidingLog.create({ limit, intervalMs: 1_000, clock });
      for (let year = 1; year <= 12; year++) {
        clock.set(year * 365.25 * 86_400_000);
        expect(log.tryConsume(limit)).toBe(true);
        clock.advance(1_000 - TICK_MS * 2);
        expect(log.tryConsume()).toBe(false);
        clock.advance(TICK_MS * 2);
        expect(log.available()).toBe(limit);
      }
    }
  });

  it.each([1, 2, 3, 4, 5, 1_000])('keeps its entries over many laps, at limit %i', (limit) => {
    const clock = ManualClock.create();
    const log = SlidingLog.create({ limit, intervalMs: 1, clock });
    for (let lap = 0; lap < 300; lap++) {
      const n = 1 + (lap % limit);
      expect(log.tryConsume(n)).toBe(true);
      expect(log.available()).toBe(limit - n);
      clock.advance(1);
    }
  });

  it('continues after the low bits of its lap overflow', () => {
    const clock = ManualClock.create();
    const region = Region.create();
    const log = SlidingLog.create({ limit: 1_000, intervalMs: 1, clock, region });
    // The last entry of the last lap that 22 bits count, which is odd, so the lap before left the
    // mark 1 there.
    const word = log.handle.offset / 8;
    const highest = (0x3fffffn << 10n) | 999n;
    region.i64[word] = BigInt.asIntN(64, highest << 32n);
    region.i64[(log.handle.offset + WINDOW.ring) / 8 + 999] = 1n;
    for (let lap = 0; lap < 3; lap++) {
      for (let i = 0; i < 1_000; i++) expect(log.tryConsume()).toBe(true);
      expect(log.tryConsume()).toBe(false);
      clock.advance(1);
    }
    // Lap 2^22 + 2, index 999, one pending.
    expect(region.i64[word]).toBe((((2n << 10n) | 999n) << 32n) | (1n << 13n) | (1n << 3n));
  });

  it('never dates an entry that another thread completes before the reading that admitted it', () => {
    const clock = ManualClock.create();
    const region = Region.create();
    const log = SlidingLog.create({ limit: 1, intervalMs: 100, clock, region });
    const helper = SlidingLog.attach(structuredClone(log.handle));
    const now = helper.clock.now.bind(helper.clock);
    let readings = 0;
    helper.clock.now = () => {
      const nowUs = now();
      readings++;
      if (readings === 1) {
        // While the helper is stalled, a thread takes the only entry, 50 ms later, and dies:
        // it has advanced the head by one, with one entry pending.
        clock.advance(50);
        const head = region.i64[log.handle.offset / 8] as bigint;
        expect(head).toBe(0n);
        // Index 0 of lap 1, because the ring has one entry: C is 1 bit, so the lap counts from bit
        // 33.
        region.i64[log.handle.offset / 8] = (1n << 33n) | (1n << 3n);
      }
      return nowUs;
    };
    expect(helper.tryConsume()).toBe(false);
    clock.set(150 - TICK_MS);
    expect(helper.tryConsume()).toBe(false);
    clock.set(150);
    expect(helper.tryConsume()).toBe(true);
  });
});

describe('a clock that steps back while a thread that took tokens is stalled', () => {
  let preemption: Preemption | undefined;
  afterEach(() => {
    preemption?.restore();
  });

  it('keeps anyone from dating the entries too early', () => {
    preemption = new Preemption();
    for (const { limit, first, stalled, after, backMs, atMs } of [
      // The entry of an admission at 0 ms, taken again at 100 ms.
      { limit: 1, first: 1, stalled: 1, after: 1, backMs: 0, atMs: 100 },
      // Two entries after that of an admission at 100 ms.
      { limit: 3, first: 0, stalled: 2, after: 3, backMs: 50, atMs: 150 },
    ]) {
      for (let at = 1; at < 25; at++) {
        const clock = ManualClock.create();
        const log = preemption.check(SlidingLog.create({ limit, intervalMs: 100, clock }));
        const other = SlidingLog.attach(structuredClone(log.handle));
        log.tryConsume(first);
        clock.set(100);
        if (first === 0) log.tryConsume();
        let also = false;
        const taken = preemption.call(
          () => log.tryConsume(stalled),
          at,
          () => {
            clock.set(backMs);
            other.available();
            clock.set(atMs);
            also = other.tryConsume(after);
          },
        );
        if (first === 0) expect(also).toBe(false);
        else expect(taken !== also).toBe(true);
      }
    }
  });
});
