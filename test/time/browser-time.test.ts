import { afterEach, expect, test, vi } from 'vitest';
import { ManualClock, Region, TokenBucket } from '../../src/index.ts';
import { nextTurn, timers } from '../../src/memory/runtime.ts';
import { plant } from '../support/plant.ts';

// What browsers lack, taken away here; test/browser runs in real ones.

afterEach(() => {
  vi.unstubAllGlobals();
  vi.restoreAllMocks();
});

test('a turn of the event loop without setImmediate comes after pending promises, once', async () => {
  plant(timers, 'startTurn', undefined);
  const order: string[] = [];
  const turned = new Promise<void>((resolve) => {
    nextTurn(() => {
      order.push('turn');
      resolve();
    });
  });
  nextTurn(() => order.push('cancelled'))();
  await Promise.resolve();
  order.push('promise');
  await turned;
  await new Promise<void>((resolve) => nextTurn(resolve));
  expect(order).toEqual(['promise', 'turn']);
});

test('a strict wait ends without setImmediate', async () => {
  plant(timers, 'startTurn', undefined);
  const bucket = TokenBucket.create({ rate: 1000, burst: 1 });
  const startUs = bucket.clock.now();
  for (let n = 0; n < 4; n++) await bucket.wait(1, { strict: true });
  // One token is there at first, and at most one more arrives before the clock is read.
  expect(bucket.clock.now() - startUs).toBeGreaterThan(1900);
});

test.each(['system', 'manual'])(
  'waitSync on the %s clock where a thread cannot block throws, and takes nothing',
  (name) => {
    const clock = name === 'manual' ? { clock: ManualClock.create() } : {};
    const bucket = TokenBucket.create({ rate: 1e-3, burst: 1, ...clock });
    vi.spyOn(Atomics, 'wait').mockImplementation(() => {
      throw new TypeError('Atomics.wait cannot be called in this context');
    });
    expect(bucket.waitSync()).toBe(true);
    expect(() => bucket.waitSync()).toThrow(
      expect.objectContaining({ name: 'RateLimitError', code: 'ERR_CANNOT_BLOCK' }),
    );
    expect(bucket.balance()).toBeGreaterThanOrEqual(0);
  },
);

test('without SharedArrayBuffer, creating throws and says which headers are missing', () => {
  vi.stubGlobal('SharedArrayBuffer', undefined);
  for (const create of [() => Region.create(), () => ManualClock.create()]) {
    expect(create).toThrow(/^SharedArrayBuffer is missing: .*Cross-Origin-Opener-Policy/);
  }
});
