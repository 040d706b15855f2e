import { describe, expect, it, vi } from 'vitest';
import { FixedWindow, ManualClock, Region, SlidingLog, SlidingWindow } from '../../src/index.ts';

const YEAR_MS = 365.25 * 86_400_000;

describe.each(['wasm', 'atomics'] as const)('the largest limits, with kernel %s,', (kernel) => {
  it('fit into their words', () => {
    const clock = ManualClock.create();
    const limit = 2 ** 30 - 1;
    for (const limiter of [
      FixedWindow.create({ limit, intervalMs: 10_000, clock, kernel }),
      SlidingWindow.create({ limit, intervalMs: 10_000, clock, kernel }),
      SlidingLog.create({
        limit: 100_000,
        intervalMs: 1_000,
        clock,
        kernel,
        region: Region.create({ bytes: 900_000 }),
      }),
    ]) {
      clock.set(0);
      expect(limiter.tryConsume(limiter.limit - 1)).toBe(true);
      expect(limiter.tryConsume(2)).toBe(false);
      expect(limiter.available()).toBe(1);
      clock.set(11_500);
      expect(limiter.tryConsume(limiter.limit)).toBe(true);
      expect(limiter.available()).toBe(0);
    }
  });

  it('neither open slots endlessly nor admit more after the end of their lifetime', () => {
    const clock = ManualClock.create();
    const limit = 2 ** 30 - 1;
    for (const limiter of [
      FixedWindow.create({ limit, intervalMs: 5_250, clock, kernel }),
      SlidingWindow.create({ limit, intervalMs: 5_250, slots: 10, clock, kernel }),
    ]) {
      // A limiter works for 17 years, but not for 60.
      for (const years of [0, 17, 60]) {
        clock.set(years * YEAR_MS);
        expect(limiter.tryConsume(limit)).toBe(true);
        expect(limiter.tryConsume()).toBe(false);
      }
      clock.advance(YEAR_MS);
      expect(limiter.tryConsume()).toBe(false);
      clock.set(0);
    }
  });

  it.each([NaN, Infinity, -Infinity, 1e300, -1e300])('survive a clock that reads %d', (nowUs) => {
    const clock = ManualClock.create();
    const options = { limit: 3, intervalMs: 100, clock, kernel };
    for (const [limiter, left] of [
      [FixedWindow.create(options), 1],
      [SlidingWindow.create(options), 1],
      [SlidingLog.create(options), 0],
    ] as const) {
      limiter.tryConsume(2);
      // NaN and times before the origin count as a step back.
      const now = vi.spyOn(clock, 'now').mockReturnValue(nowUs);
      expect(limiter.consumeOrDrain(5)).toBe(nowUs > 0 ? 3 : left);
      expect(limiter.tryConsume()).toBe(false);
      expect(limiter.available()).toBe(0);
      now.mockRestore();
    }
  });
});
