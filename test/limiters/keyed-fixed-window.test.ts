import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  allOf,
  attach,
  KeyedFixedWindow,
  KeyedTokenBucket,
  ManualClock,
  RateLimitError,
  TokenBucket,
} from '../../src/index.ts';
import { SHARE } from '../support/random.ts';

const LIMIT = 3;
const INTERVAL_MS = 10;
const CAPACITY = 7;
/** More keys than the table's capacity, so that entries are constantly reclaimed. */
const KEYS = ['', '1', 1, 1n, '__proto__', 'a', 'b', 'c', -1, 2n ** 70n, '\ud800', '\ud801'];

function table(clock: ManualClock) {
  const options = { limit: LIMIT, intervalMs: INTERVAL_MS, capacity: CAPACITY };
  return KeyedFixedWindow.create({ ...options, clock });
}

const act = fc.record({
  key: fc.constantFrom(...KEYS),
  n: fc.integer({ min: 0, max: 4 }),
  moveUs: fc.oneof(fc.constantFrom(0, 0, 10_000, 40_000), fc.integer({ min: 0, max: 4000 })),
});
const script = fc.array(act, { maxLength: 60, size: 'max' });

test('no window ever admits more than the limit, even if the clock steps back', () => {
  const backs = fc.array(fc.integer({ min: 0, max: 30_000 }));
  const property = fc.property(script, backs, (acts, steps) => {
    const clock = ManualClock.create();
    const made = table(clock);
    const admitted = new Map<string, number>();
    for (const [i, { key, n, moveUs }] of acts.entries()) {
      clock.set(Math.max(0, clock.nowMs + (moveUs - (steps[i % 7] ?? 0)) / 1000));
      if (!made.tryConsume(key, n)) continue;
      const window = `${typeof key}:${key}:${Math.floor(clock.nowMs / INTERVAL_MS)}`;
      admitted.set(window, (admitted.get(window) ?? 0) + n);
    }
    for (const count of admitted.values()) expect(count).toBeLessThanOrEqual(LIMIT);
  });
  fc.assert(property, { numRuns: 1000 * SHARE });
});

test('a wait counts once, however often it tries, and one that fails as refused', async () => {
  const clock = ManualClock.create();
  const options = { limit: LIMIT, intervalMs: INTERVAL_MS, capacity: CAPACITY, clock };
  const made = KeyedFixedWindow.create({ ...options, stats: true });
  await made.wait('ann', LIMIT);
  const waiting = made.wait('ann', LIMIT);
  clock.advance(INTERVAL_MS);
  await waiting;
  expect(made.stats()).toMatchObject({ calls: 2, admitted: 2 * LIMIT, refused: 0 });
  await expect(made.wait('ann', 1, { timeoutMs: 1 })).rejects.toThrow(RateLimitError);
  expect(made.waitSync('ann', 1, { timeoutMs: 0 })).toBe(false);
  expect(made.stats()).toMatchObject({ calls: 4, refused: 2 });
  expect(made.stats().longestProbe).toBeGreaterThan(0);
});

test('allOf takes a window of a key back if a later part refuses', () => {
  const clock = ManualClock.create();
  const ann = table(clock).for('ann');
  const none = TokenBucket.create({ rate: 1, burst: 5, initial: 0, clock });
  expect(allOf(ann, none).tryConsume(2)).toBe(false);
  expect(ann.available()).toBe(LIMIT);
  expect(allOf(ann, ann).limit).toBe(1);
});

test.each(['wasm', 'atomics'] as const)(
  'a block holds for every tier, as long as under its own: kernel %s',
  (kernel) => {
    const clock = ManualClock.create();
    const tiers = { pro: { limit: 100 } };
    const options = { limit: 1, intervalMs: INTERVAL_MS, tiers, capacity: 10, clock, kernel };
    const made = KeyedFixedWindow.create(options);
    const pro = { tier: 'pro' };
    made.block('ann', 9.5 * INTERVAL_MS);
    made.for('ben', pro).block(9.5 * INTERVAL_MS);
    for (let window = 10; window > 0; window--) {
      for (const key of ['ann', 'ben']) {
        expect(made.timeUntil(key, 1)).toBeCloseTo(window * INTERVAL_MS);
        expect(made.timeUntil(key, 1, pro)).toBeCloseTo(window * INTERVAL_MS);
        expect([made.tryConsume(key), made.tryConsume(key, 1, pro)]).toEqual([false, false]);
      }
      clock.advance(INTERVAL_MS);
    }
    expect([made.available('ann'), made.available('ann', pro)]).toEqual([1, 100]);
    made.block('ann', 1);
    made.reconfigure({ limit: 50 });
    expect([made.tryConsume('ann'), made.tryConsume('ann', 1, pro)]).toEqual([false, false]);
  },
);

test('the longest block of the longest window ends, and a clock without a reading admits nothing new', () => {
  let nowUs = 0;
  const system = ManualClock.create();
  const clock = Object.assign(Object.create(system), { now: () => nowUs }) as ManualClock;
  const longest = { limit: 100, intervalMs: 1e11, capacity: 5, clock };
  const made = KeyedFixedWindow.create(longest);
  nowUs = 0.9e14;
  expect(made.block('ann', 1e11)).toBe(true);
  expect(made.tryConsume('ann')).toBe(false);
  expect(made.consumeOrDrain('ben', 1000)).toBe(100);
  nowUs = Number.NaN;
  expect(made.tryConsume('ben')).toBe(false);
});

test('other threads attach by its handle, and no other class does', () => {
  const clock = ManualClock.create();
  const made = table(clock);
  made.tryConsume('ann', 2);
  const attached = attach(structuredClone(made.handle));
  expect(attached).toBeInstanceOf(KeyedFixedWindow);
  expect(attached.available('ann')).toBe(1);
  expect([attached.limit, attached.intervalMs]).toEqual([LIMIT, INTERVAL_MS]);
  expect(attached.kernelName).toBe(made.kernelName);
  expect(() => KeyedTokenBucket.attach(made.handle as never)).toThrow(/keyed-fixed-window/);
});

test.each([
  [{ limit: 0 }, 'limit must be an integer at least 1 and at most 1073741823, got 0'],
  [{ limit: 1.5 }, 'limit must be an integer at least 1 and at most 1073741823, got 1.5'],
  [{ intervalMs: 0 }, 'intervalMs must be a number at least 0.001 and at most 100000000000, got 0'],
  [
    { intervalMs: 1e11 },
    'limit / intervalMs must be a number at least 1e-9 and at most 4000000, got 3e-11',
  ],
  [{ capacity: 0 }, 'capacity must be an integer at least 1 and at most 67000000, got 0'],
  [{ whenFull: 'queue' }, 'whenFull must be one of share, refuse, admit, got "queue"'],
  [{ interval: 5 }, 'options has no option "interval"'],
])('%j is refused', (wrong, message) => {
  const options = { limit: LIMIT, intervalMs: INTERVAL_MS, capacity: CAPACITY, ...wrong };
  expect(() => KeyedFixedWindow.create(options as never)).toThrow(message);
  const made = table(ManualClock.create());
  expect(() => made.tryConsume('ann', 0.5)).toThrow('n must be an integer at least 0, got 0.5');
  expect(() => made.tryConsume(null as never)).toThrow(TypeError);
  expect(() => made.reconfigure({ limits: 1 } as never)).toThrow('change has no option "limits"');
});
