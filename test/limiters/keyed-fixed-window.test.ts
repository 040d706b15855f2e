import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  allOf,
  attach,
  KeyedFixedWindow,
  KeyedTokenBucket,
  ManualClock,
  TokenBucket,
} from '../../src/index.ts';
import { SHARE } from '../support/random.ts';

const LIMIT = 3;
const INTERVAL_MS = 10;
const CAPACITY = 7;
/** More keys than the table's capacity, so that entries are constantly reclaimed. */
const KEYS = ['', '1', 1, 1n, '__proto__', 'a', 'b', 'c', -1, 2n ** 70n, '\ud800', '\ud801'];

function table(clock: ManualClock, whenFull: 'share' | 'refuse' | 'admit' = 'share') {
  const options = { limit: LIMIT, intervalMs: INTERVAL_MS, capacity: CAPACITY };
  return KeyedFixedWindow.create({ ...options, whenFull, clock });
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

test('a full window admits the next tokens when the next window starts, and lists no idle key', () => {
  const clock = ManualClock.create({ nowMs: 5 });
  const made = table(clock);
  expect(made.consumeOrDrain('ann', 9)).toBe(3);
  clock.advance(INTERVAL_MS - 0.001);
  expect(made.tryConsume('ann')).toBe(false);
  expect(made.timeUntil('ann', 1)).toBeCloseTo(0.001);
  expect(made.stats().entries).toBe(1);
  clock.advance(0.001);
  expect(made.stats().entries).toBe(0);
  expect(made.for('ann').consumeOrDrain(9)).toBe(3);
});

test('an idle hour adds nothing', () => {
  const clock = ManualClock.create();
  const made = table(clock);
  made.consumeOrDrain('ann', 1);
  clock.advance(3_600_000);
  expect(made.consumeOrDrain('ann', 99)).toBe(LIMIT);
  expect(made.consumeOrDrain('ann', 99)).toBe(0);
});

test('waits end with the next window, and keep their key while the table serves others', async () => {
  const clock = ManualClock.create();
  const made = table(clock);
  made.consumeOrDrain('ann', LIMIT);
  const waiting = made.wait('ann', 2);
  expect(made.tryConsume('ben', 3)).toBe(true);
  clock.advance(INTERVAL_MS);
  await waiting;
  expect([made.available('ann'), made.available('ben')]).toEqual([LIMIT - 2, LIMIT]);
  await expect(made.wait('ann', 2, { timeoutMs: 9 })).rejects.toMatchObject({
    code: 'ERR_RATE_LIMIT_TIMEOUT',
  });
  await expect(made.wait('ann', 4)).rejects.toMatchObject({ code: 'ERR_EXCEEDS_BURST' });
  const aborted = made.wait('ann', 2, { signal: AbortSignal.abort('enough') });
  await expect(aborted).rejects.toBe('enough');
  expect(made.available('ann')).toBe(1);
});

test('the callers of a key form one line', async () => {
  const clock = ManualClock.create();
  const made = table(clock);
  made.consumeOrDrain('ann', LIMIT);
  const order: number[] = [];
  const waits = [2, 1, 2].map((n, i) => made.wait('ann', n).then(() => order.push(i)));
  const [ben, ann] = [made.for('ben'), made.for('ann')];
  expect([made.waiting, ann.waiting, ben.waiting, made.stats().waiting]).toEqual([3, 3, 0, 3]);
  await expect(ann.wait(1, { maxWaiting: 3 })).rejects.toMatchObject({ code: 'ERR_QUEUE_FULL' });
  clock.advance(INTERVAL_MS);
  await Promise.all(waits.slice(0, 2));
  expect([order, made.waiting]).toEqual([[0, 1], 1]);
  clock.advance(INTERVAL_MS);
  await waits[2];
  expect([order, made.waiting, made.available('ann')]).toEqual([[0, 1, 2], 0, 1]);
});

test('allOf takes a window of a key back if a later part refuses', () => {
  const clock = ManualClock.create();
  const ann = table(clock).for('ann');
  const none = TokenBucket.create({ rate: 1, burst: 5, initial: 0, clock });
  expect(allOf(ann, none).tryConsume(2)).toBe(false);
  expect(ann.available()).toBe(LIMIT);
  expect(allOf(ann, ann).limit).toBe(1);
});

test('a charge uses later windows, a block lasts to the next window, and a reset ends both', () => {
  const clock = ManualClock.create();
  const made = table(clock);
  expect(made.charge('ann', 2)).toBe(0);
  expect(made.charge('ann', 5)).toBeCloseTo(2 * INTERVAL_MS);
  clock.advance(2 * INTERVAL_MS);
  expect(made.available('ann')).toBe(2 * LIMIT + 3 - 7);
  expect(made.block('ann', 0.5 * INTERVAL_MS)).toBe(true);
  expect(made.timeUntil('ann', 1)).toBeCloseTo(INTERVAL_MS);
  made.block('ann', INTERVAL_MS); // ends as the next window starts
  expect(made.timeUntil('ann', LIMIT)).toBeCloseTo(INTERVAL_MS);
  made.block('ann', 1.5 * INTERVAL_MS);
  expect(made.timeUntil('ann', LIMIT)).toBeCloseTo(2 * INTERVAL_MS);
  made.block('ann', 1); // shorter
  expect(made.timeUntil('ann', LIMIT)).toBeCloseTo(2 * INTERVAL_MS);
  made.tryConsume('ben');
  made.reset('ann');
  expect([made.available('ann'), made.available('ben')]).toEqual([LIMIT, LIMIT - 1]);
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

test('windows that a charge uses up stay so under another tier, and the rest of the last one', () => {
  const clock = ManualClock.create();
  const tiers = { pro: { limit: 100 } };
  const options = { limit: 10, intervalMs: INTERVAL_MS, tiers, capacity: 10, clock };
  const made = KeyedFixedWindow.create(options);
  const pro = { tier: 'pro' };
  made.charge('ann', 250, pro);
  expect(made.timeUntil('ann', 1)).toBeCloseTo(3 * INTERVAL_MS);
  expect(made.timeUntil('ann', 50, pro)).toBeCloseTo(2 * INTERVAL_MS);
  // More than 10 of the third window are used, so the charge begins with the fourth.
  expect(made.charge('ann', 1)).toBeCloseTo(3 * INTERVAL_MS);
  expect(made.timeUntil('ann', 9)).toBeCloseTo(3 * INTERVAL_MS);
  made.charge('ben', 25);
  expect(made.timeUntil('ben', 95, pro)).toBeCloseTo(2 * INTERVAL_MS);
});

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

describe('a key that finds no place', () => {
  test.each([
    ['share', [true, true, true, false]],
    ['refuse', [false, false, false, false]],
    ['admit', [true, true, true, true]],
  ] as const)('%s', (whenFull, answers) => {
    const clock = ManualClock.create();
    const options = { limit: 1, intervalMs: 10, capacity: 1, whenFull, clock };
    const made = KeyedFixedWindow.create({ ...options, limit: 3 });
    made.tryConsume('ann');
    made.tryConsume('ben');
    expect(answers.map((_, i) => made.tryConsume(i % 2 === 0 ? 'cid' : 'dan'))).toEqual(answers);
    expect(made.stats().shared).toBe(4);
  });
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
});
