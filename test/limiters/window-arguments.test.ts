import { describe, expect, it } from 'vitest';
import { SlidingWindow } from '../../src/index.ts';
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
