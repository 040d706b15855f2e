import { describe, expect, it, vi } from 'vitest';
import { ManualClock, Region, Sometimes, TokenBucket } from '../../src/index.ts';
import { Random, SEED } from '../support/random.ts';
import { type AnyWindow, WINDOW_KERNELS } from '../support/window-kinds.ts';

const OPTIONS = { limit: 3, intervalMs: 100, slots: 4 };

/** All memory of a limiter that has its own region. */
function memory(region: Region): Buffer {
  return Buffer.from(new Uint8Array(region.buffer)).subarray(0, 1024);
}

describe.each(WINDOW_KERNELS)('$kind, with kernel $kernel, and a clock', ({ create }) => {
  it('that throws: takes nothing, rethrows, and keeps working', () => {
    const clock = ManualClock.create();
    const region = Region.create();
    const window = create({ ...OPTIONS, clock, region });
    window.tryConsume(3);
    clock.advance(50);
    const before = Buffer.from(memory(region));
    const now = vi.spyOn(clock, 'now').mockImplementation(() => {
      throw new Error('no time');
    });
    expect(() => window.tryConsume()).toThrow('no time');
    expect(() => window.consumeOrDrain(2)).toThrow('no time');
    expect(() => window.decide()).toThrow('no time');
    expect(() => window.available()).toThrow('no time');
    expect(memory(region).equals(before)).toBe(true);
    now.mockRestore();
    expect(window.tryConsume()).toBe(false);
    clock.advance(100);
    expect(window.tryConsume(3)).toBe(true);
  });

  it(`that calls limiters, including this one: answers as with any other clock (ZEROTIME_SEED=${SEED})`, () => {
    const random = new Random(SEED);
    const clock = ManualClock.create();
    const region = Region.create();
    const window = create({ ...OPTIONS, clock, region });
    const neighbours = [
      create({ ...OPTIONS, limit: 5, clock, region }),
      TokenBucket.create({ rate: 100, burst: 5, clock, region }),
    ];
    const quiet = ManualClock.create();
    const twin = create({ ...OPTIONS, clock: quiet });
    let nested = 0;
    const read = clock.now.bind(clock);
    let isNested = false;
    clock.now = () => {
      if (!isNested) {
        isNested = true;
        nested++;
        for (const neighbour of neighbours) neighbour.tryConsume();
        window.available();
        isNested = false;
      }
      return read();
    };
    const ask = (limiter: AnyWindow, call: number, n: number) =>
      call === 0
        ? limiter.tryConsume(n)
        : call === 1
          ? limiter.consumeOrDrain(n)
          : call === 2
            ? limiter.decide(n)
            : limiter.timeUntil(n);
    for (let i = 0; i < 2_000; i++) {
      const ms = random.pick([0, 1, 25, 60, 130]);
      clock.advance(ms);
      quiet.advance(ms);
      const call = random.below(4);
      const n = random.below(5);
      expect(ask(window, call, n), `call ${i}`).toEqual(ask(twin, call, n));
    }
    expect(nested).toBeGreaterThan(500);
  });

  it('that takes tokens while it is read: takes what is left', () => {
    const clock = ManualClock.create();
    const window = create({ ...OPTIONS, clock });
    window.tryConsume(3);
    clock.set(125);
    const read = clock.now.bind(clock);
    const nested: boolean[] = [];
    clock.now = () => {
      clock.now = read;
      nested.push(window.tryConsume(), window.tryConsume());
      return read();
    };
    expect(window.tryConsume()).toBe(true);
    expect(nested).toEqual([true, true]);
    expect(window.available()).toBe(0);
  });

  it('after whose reading time passes and others take tokens: is read again', () => {
    const clock = ManualClock.create();
    const window = create({ ...OPTIONS, limit: 1, clock });
    window.tryConsume();
    clock.set(125);
    const read = clock.now.bind(clock);
    const nested: boolean[] = [];
    clock.now = () => {
      clock.now = read;
      const nowUs = read();
      clock.set(275);
      nested.push(window.tryConsume(), window.tryConsume());
      return nowUs;
    };
    expect(window.decide()).toMatchObject({ allowed: false, remaining: 0, retryAfterMs: 100 });
    expect(nested).toEqual([true, false]);
  });
});

describe.each(['wasm', 'atomics'] as const)('Sometimes, with kernel %s, and a clock', (kernel) => {
  it('that throws: counts no call', () => {
    const clock = ManualClock.create();
    const sometimes = Sometimes.create({ every: 2, intervalMs: 100, clock, kernel });
    const now = vi.spyOn(clock, 'now').mockImplementation(() => {
      throw new Error('no time');
    });
    expect(() => sometimes.isDue()).toThrow('no time');
    now.mockRestore();
    expect([sometimes.isDue(), sometimes.isDue(), sometimes.isDue()]).toEqual([true, false, true]);
  });

  it('that calls it: counts both calls', () => {
    const clock = ManualClock.create();
    const sometimes = Sometimes.create({ first: 2, intervalMs: 100, clock, kernel });
    const read = clock.now.bind(clock);
    const inner: boolean[] = [];
    clock.now = () => {
      clock.now = read;
      inner.push(sometimes.isDue());
      return read();
    };
    expect(sometimes.isDue()).toBe(true);
    expect(inner).toEqual([true]);
    expect(sometimes.isDue()).toBe(false);
  });
});
