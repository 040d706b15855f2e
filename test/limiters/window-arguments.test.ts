import { describe, expect, it, vi } from 'vitest';
import {
  attach,
  FixedWindow,
  HandleError,
  ManualClock,
  Region,
  SlidingLog,
  SlidingWindow,
  TokenBucket,
} from '../../src/index.ts';
import { CELL, WINDOW, WINDOW_RECORD } from '../../src/memory/layout.ts';
import { part } from '../support/random.ts';
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
    for (const call of ['tryConsume', 'consumeOrDrain', 'decide', 'waitSync'] as const) {
      expect(() => limiter[call](0.5)).toThrow(
        new RangeError('n must be an integer at least 0, got 0.5'),
      );
    }
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

  it('tell no time in the past after the end of their lifetime', () => {
    const clock = ManualClock.create();
    const options = { limit: 1, intervalMs: 1000, clock, kernel };
    const limiters = [FixedWindow, SlidingWindow, SlidingLog].map((each) => each.create(options));
    clock.set(60 * YEAR_MS);
    for (const limiter of limiters) {
      limiter.tryConsume();
      // Their clock stands still, in a window that ends within an interval.
      for (const ms of [limiter.timeUntil(1), limiter.decide().resetMs]) {
        expect(ms).toBeGreaterThan(0);
        expect(ms).toBeLessThanOrEqual(1000);
      }
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

describe.each(WINDOW_KERNELS)(
  '$kind, with kernel $kernel',
  ({ kind, create, attach: attachTo }) => {
    const options = { limit: 3, intervalMs: 100, slots: 4 };

    it('starts empty in memory that held something else', () => {
      const buffer = new SharedArrayBuffer(65_536);
      new BigInt64Array(buffer).fill(0x55aa55aa55aa55aan);
      const clock = ManualClock.create();
      const limiter = create({ ...options, clock, region: Region.create({ buffer }) });
      expect(limiter.consumeOrDrain(10)).toBe(3);
      expect(limiter.tryConsume()).toBe(false);
    });

    it.each([
      ['limit', WINDOW_RECORD.limit, [-1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 31]],
      ['intervalMs', WINDOW_RECORD.intervalMs, [0, -1, Number.NaN, Number.POSITIVE_INFINITY]],
      ['origin', WINDOW_RECORD.originTicks, [0.5, Number.NaN, Number.POSITIVE_INFINITY]],
      ['first slot', WINDOW_RECORD.firstSlot, [0.5, Number.NaN]],
      ['shift', WINDOW_RECORD.shift, [0.5, Number.NaN]],
    ] as const)('cannot be attached if its %s is invalid', (_, field, values) => {
      for (const value of values) {
        const region = Region.create();
        const { handle } = create({ ...options, region });
        region.f64[(handle.offset + WINDOW.records + field) / 8] = value;
        expect(() => attachTo(handle)).toThrow(HandleError);
        expect(() => attach(handle)).toThrow(HandleError);
      }
    });

    it.each([
      ['slots', WINDOW.slots, [0, -1, 5000]],
      ['maxLimit', WINDOW.maxLimit, [0, -1, 2, -(2 ** 31)]],
      ['allowDoubleBurst', WINDOW.allowDoubleBurst, [-1, 2]],
      ['epoch', WINDOW.records + WINDOW_RECORD.epoch, [0]],
      ['count bits', WINDOW.records + WINDOW_RECORD.bits, [-1, 0, 1, 31, 64]],
    ] as const)('cannot be attached if its %s is out of range', (_, field, values) => {
      for (const value of values) {
        const region = Region.create();
        const { handle } = create({ ...options, region });
        region.i32[(handle.offset + field) / 4] = value;
        // Its own limit is far above 2.
        if (kind === 'fixed-window' && value === 2 && field === WINDOW.maxLimit) continue;
        expect(() => attachTo(handle)).toThrow(HandleError);
        expect(() => attach(handle)).toThrow(HandleError);
      }
    });

    it('cannot be attached if it would reach past the end of its region', () => {
      const region = Region.create();
      const { handle } = create({ ...options, region });
      const field = kind === 'sliding-window' ? WINDOW.slots : WINDOW.maxLimit;
      region.i32[(handle.offset + field) / 4] = kind === 'sliding-window' ? 4096 : 2 ** 24;
      // A fixed window has no ring.
      if (kind === 'fixed-window') expect(attachTo(handle).limit).toBe(3);
      else if (kind === 'sliding-log') expect(() => attachTo(handle)).toThrow(/no sliding-log is/);
      else expect(() => attachTo(handle)).toThrow(HandleError);
    });

    it('neither hangs nor crashes on any word, nor writes outside its cell', () => {
      const clock = ManualClock.create();
      const region = Region.create();
      const before = TokenBucket.create({ rate: 1, burst: 5, region, clock });
      // A ring of 8 fills its line; the next bytes are another limiter's.
      const limiter = create({ ...options, limit: 8, region, clock });
      const after = TokenBucket.create({ rate: 1, burst: 5, region, clock });
      const at = (limiter.handle.offset + CELL.word) / 8;
      const ring = (limiter.handle.offset + WINDOW.ring) / 8;
      let seed = 1n;
      for (let i = 0; i < part(5_000, 400); i++) {
        seed = BigInt.asUintN(64, seed * 6364136223846793005n + 1442695040888963407n);
        // Random bits, few bits or nearly all.
        const shifted = seed >> BigInt(i % 64);
        region.i64[at] = BigInt.asIntN(64, i % 3 === 0 ? ~shifted : shifted);
        if (kind !== 'fixed-window') region.i64[ring + (i % 3)] = BigInt.asIntN(64, seed << 7n);
        const thread = () => {
          // Instances attached before the damage detect it later.
          if (i % 2 === 0) limiter.tryConsume();
          const attached = attachTo(limiter.handle);
          attached.tryConsume(1 + (i % 3));
          attached.decide(2);
          attached.consumeOrDrain(3);
          limiter.available();
        };
        clock.advance(i % 5 === 0 ? 50 : 0.01);
        try {
          thread();
        } catch (error) {
          expect(error).toMatchObject({ name: 'HandleError', code: 'ERR_REGION_DAMAGED' });
        }
      }
      expect([before.balance(), after.balance()]).toEqual([5, 5]);
    });
  },
);
