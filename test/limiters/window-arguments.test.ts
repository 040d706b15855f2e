import { describe, expect, it, vi } from 'vitest';
import { FixedWindow, ManualClock, Region, SlidingLog, SlidingWindow } from '../../src/index.ts';
import { WINDOW_KERNELS } from '../support/window-kinds.ts';

describe.each(WINDOW_KERNELS)('$kind, with kernel $kernel', ({ create }) => {
  const options = { limit: 3, intervalMs: 100, slots: 4 };

  it.each([-1, 1.5, Number.NaN, 2 ** 31, Number.POSITIVE_INFINITY])('refuses limit %d', (limit) => {
    const message = /limit must be an integer at least 0 and at most \d+, got/;
    expect(() => create({ ...options, limit })).toThrow(RangeError);
    expect(() => create({ ...options, limit })).toThrow(message);
  });

  it.each([0, -1, 0.0009, Number.NaN, 1.1e11, Number.POSITIVE_INFINITY])(
    'refuses intervalMs %d',
    (intervalMs) => {
      expect(() => create({ ...options, intervalMs })).toThrow(RangeError);
      expect(() => create({ ...options, intervalMs })).toThrow(/^intervalMs must be/);
    },
  );

  it('names a non-numeric parameter', () => {
    const limit = '5' as unknown as number;
    expect(() => create({ ...options, limit })).toThrow(TypeError);
    expect(() => create({ ...options, limit })).toThrow(/limit must be .* got "5"/);
    expect(() => create(undefined as never)).toThrow(TypeError);
  });

  it('accepts whole tokens only', () => {
    const limiter = create(options);
    for (const n of [-1, 0.5, Number.NaN, Number.POSITIVE_INFINITY]) {
      expect(() => limiter.tryConsume(n)).toThrow(RangeError);
      expect(() => limiter.consumeOrDrain(n)).toThrow(RangeError);
      expect(() => limiter.decide(n)).toThrow(RangeError);
      expect(() => limiter.waitSync(n)).toThrow(/^n must be an integer at least 0, got/);
    }
    expect(() => limiter.tryConsume('1' as never)).toThrow(TypeError);
    expect(limiter.tryConsume(0)).toBe(true);
    expect(limiter.available()).toBe(3);
  });
});

describe('SlidingWindow.create', () => {
  it.each([0, -1, 1.5, 4097, Number.NaN])('refuses slots %d', (slots) => {
    expect(() => SlidingWindow.create({ limit: 1, intervalMs: 100, slots })).toThrow(
      /^slots must be an integer at least 1 and at most 4096, got/,
    );
  });

  it('refuses slots so short that their numbers would run out', () => {
    const make = (limit: number, intervalMs: number) =>
      SlidingWindow.create({ limit, intervalMs, slots: 10 });
    expect(() => make(1, 0.009)).toThrow('intervalMs / slots must be at least 0.001 at limit 1');
    expect(make(1, 0.01).slots).toBe(10);
    expect(() => make(1_000_000, 5.11)).toThrow('must be at least 0.512 at limit 1000000');
    expect(make(1_000_000, 5.12).slots).toBe(10);
    expect(() => make(2 ** 30 - 1, 5242)).toThrow('must be at least 524.288 at limit 1073741823');
  });
});

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
