import { describe, expect, test } from 'vitest';
import {
  attach,
  type KeyBucket,
  KeyedFixedWindow,
  KeyedTokenBucket,
  ManualClock,
} from '../../src/index.ts';
import { settled } from '../support/settled.ts';

const TIERS = { pro: { rate: 20, burst: 100 }, odd: { rate: 7, burst: 3 } };

function create(clock: ManualClock, capacity = 20): KeyedTokenBucket {
  return KeyedTokenBucket.create({ rate: 1, burst: 10, tiers: TIERS, capacity, clock });
}

test('each tier admits its own burst, and other threads know the tiers by name', () => {
  const made = create(ManualClock.create());
  const other = attach(structuredClone(made.handle));
  expect(made.consumeOrDrain('ann', 1000)).toBe(10);
  expect(other.consumeOrDrain('bob', 1000, { tier: 'pro' })).toBe(100);
  expect(other.for('cid', { tier: 'odd' }).consumeOrDrain(1000)).toBe(3);
  expect([other.tiers, other.rate, other.burst]).toEqual([TIERS, 1, 10]);
});

test('rates with a common multiple are exact, however many tokens are taken one by one', () => {
  const clock = ManualClock.create();
  const odd = create(clock).for('ann', { tier: 'odd' });
  let taken = odd.consumeOrDrain(3);
  for (let fifth = 0; fifth < 5000; fifth++) {
    clock.advance(200);
    while (odd.tryConsume()) taken++;
  }
  expect(taken).toBe(3 + 7 * 1000);
});

test('a clock without a reading changes nothing', () => {
  const made = create(ManualClock.create());
  const now = made.clock.now.bind(made.clock);
  made.clock.now = () => Number.NaN;
  expect(() => made.reconfigure({ rate: 3 })).toThrow(
    expect.objectContaining({ code: 'ERR_REGION_DAMAGED' }),
  );
  made.clock.now = now;
  expect([made.rate, made.consumeOrDrain('ann', 1000)]).toEqual([1, 10]);
});

test('keys without a place share one bucket for all tiers', () => {
  const made = create(ManualClock.create(), 1);
  for (const key of ['ann', 'bob']) made.charge(key, 20);
  const cid = made.for('cid', { tier: 'pro' });
  expect([cid.available(), cid.tryConsume(100), cid.available()]).toEqual([100, true, 0]);
  expect([made.balance('dan'), made.balance('eve', { tier: 'odd' })]).toEqual([-90, -97]);
});

test('a window has tiers and changes its limits; what a key used stays used', () => {
  const clock = ManualClock.create();
  const tiers = { pro: { limit: 5000 }, free: { limit: 7 } };
  const options = { limit: 100, intervalMs: 1000, capacity: 10, clock };
  const made = KeyedFixedWindow.create({ ...options, tiers });
  expect(made.consumeOrDrain('ann', 1e6)).toBe(100);
  expect(made.consumeOrDrain('bob', 1e6, { tier: 'pro' })).toBe(5000);
  const free = made.for('cid', { tier: 'free' });
  expect(Array.from({ length: 9 }, () => free.tryConsume()).filter(Boolean)).toHaveLength(7);
  clock.advance(1000);
  made.tryConsume('ann', 50);
  made.reconfigure({ limit: 200, tiers: { free: { limit: 9 } } });
  expect([made.limit, made.available('ann'), free.available()]).toEqual([200, 150, 9]);
  expect(made.tiers).toEqual({ pro: { limit: 5000 }, free: { limit: 9 } });
});

// docs/keys.md: 'If the new tier is faster, a refused call suffices'.
test.each(['wasm', 'atomics'] as const)(
  'a call that is refused under a new tier lets the key refill at its rate from then on: %s',
  (kernel) => {
    const tiers = { pro: { rate: 100, burst: 10 } };
    const calls = {
      tryConsume: (ann: KeyBucket) => ann.tryConsume(),
      consumeOrDrain: (ann: KeyBucket) => ann.consumeOrDrain(5) === 5,
      decide: (ann: KeyBucket) => ann.decide().allowed,
      acquire: (ann: KeyBucket) => ann.acquire(1, 1) === 0,
    };
    for (const call of Object.values(calls)) {
      const clock = ManualClock.create();
      const made = KeyedTokenBucket.create({
        ...{ rate: 0.001, burst: 10, tiers, capacity: 20, clock, kernel },
      });
      const ann = made.for('ann', { tier: 'pro' });
      made.charge('ann', 10);
      expect([call(ann), ann.timeUntil(5)]).toEqual([false, 50]);
      clock.advance(50);
      expect(call(ann)).toBe(true);
    }
  },
);

describe.each(['wasm', 'atomics'] as const)('a key keeps its tier: %s', (kernel) => {
  const clock = ManualClock.create();
  const made = KeyedTokenBucket.create({
    ...{ rate: 10, burst: 10, capacity: 20, clock, kernel },
    tiers: {
      pro: { rate: 100, burst: 100 },
      slow: { rate: 1, burst: 10 },
      free: { rate: Infinity, burst: Infinity },
    },
  });

  test('if a call only asks, or takes nothing', () => {
    made.charge('ann', 10);
    const ann = made.for('ann', { tier: 'pro' });
    expect([ann.timeUntil(100), ann.balance(), ann.charge(0), ann.consumeOrDrain(0)]).toEqual([
      100, 90, 0, 0,
    ]);
    clock.advance(100);
    expect(made.balance('ann')).toBe(1);
  });

  test('if a call is refused in debt', () => {
    made.charge('ben', 12);
    expect(made.tryConsume('ben', 100, { tier: 'pro' })).toBe(false);
    clock.advance(200);
    expect(made.balance('ben')).toBe(0);
  });

  test('if a call is refused under a slower one, and no tokens are lost', () => {
    made.charge('cid', 10);
    clock.advance(10);
    for (let i = 0; i < 1000; i++) {
      expect(made.tryConsume('cid', 1, { tier: 'slow' })).toBe(false);
      expect(made.tryConsume('cid', 1)).toBe(false);
    }
    clock.advance(90);
    expect(made.balance('cid')).toBe(1);
  });

  test('if tokens are returned, so that a debt does not grow', () => {
    made.block('dan', 1000);
    for (let i = 0; i < 10; i++) {
      for (const tier of ['pro', 'slow'] as const) made.returnTokens('dan', 0, { tier });
    }
    expect(made.timeUntil('dan', 1)).toBe(1100);
    made.returnTokens('dan', 2, { tier: 'free' });
    expect(made.timeUntil('dan', 1)).toBe(900);
  });

  test('if it is reset, under any tier', () => {
    for (const tier of ['pro', 'slow', 'free'] as const) {
      made.charge('eve', 10);
      made.for('eve', { tier }).reset();
      expect(made.balance('eve')).toBe(10);
    }
  });
});

describe('an invalid tier', () => {
  const made = create(ManualClock.create());
  const plain = KeyedTokenBucket.create({ rate: 1, burst: 1, capacity: 1 });
  const withTiers = (tiers: unknown) =>
    KeyedTokenBucket.create({ rate: 1, burst: 1, capacity: 1, tiers } as never);
  const limits = (count: number) =>
    Object.fromEntries(Array.from({ length: count }, (_, i) => [`t${i}`, { rate: 1, burst: 1 }]));
  test('is none of fifteen', () => expect(withTiers(limits(15)).tiers).toEqual(limits(15)));
  test('is none with a name of 64 characters', () => {
    expect(Object.keys(withTiers({ ['x'.repeat(64)]: { rate: 1, burst: 1 } }).tiers)).toHaveLength(
      1,
    );
  });
  test('is a TypeError if it is no name, and a RangeError if it is another', () => {
    expect(() => made.for('a', { tier: 5 } as never)).toThrow(TypeError);
    expect(() => made.for('a', { tier: 'x' as never })).toThrow(RangeError);
  });
  test.each<[string, () => unknown, string]>([
    [
      'unknown',
      () => made.tryConsume('a', 1, { tier: 'x' }),
      'tier must be one of pro, odd, got "x"',
    ],
    ['a number', () => made.for('a', { tier: 5 } as never), 'tier must be one of pro, odd, got 5'],
    [
      'misspelt',
      () => made.decide('a', 1, { teir: 'x' } as never),
      'no option "teir"; did you mean tier?',
    ],
    [
      'of none',
      () => plain.available('a', { tier: 'x' }),
      'tier must be omitted: there are no tiers',
    ],
    [
      'changed',
      () => made.reconfigure({ tiers: { x: {} } }),
      'tiers must be among pro, odd, got "x"',
    ],
    [
      'rate',
      () => withTiers({ a: { rate: -1, burst: 1 } }),
      'tiers.a.rate must be a number at least 0.000001',
    ],
    ['no object', () => withTiers(5), 'tiers must be an object, got 5'],
    ['none', () => withTiers({}), 'tiers must be an object of 1 to 15 limits by name'],
    ['too many', () => withTiers(limits(16)), 'tiers must be an object of 1 to 15 limits by name'],
    ['no limit', () => withTiers({ a: 5 }), 'tiers.a must be an object, got 5'],
    ['null', () => withTiers({ a: null }), 'tiers.a must be an object, got null'],
    [
      'a change that is null',
      () => create(ManualClock.create()).reconfigure({ tiers: { pro: null as never } }),
      'tiers.pro must be an object, got null',
    ],
    [
      'no name',
      () => withTiers({ '': {} }),
      'the name of a tier must have 1 to 64 characters, got ""',
    ],
    [
      'a long name',
      () => withTiers({ ['x'.repeat(65)]: {} }),
      'the name of a tier must have 1 to 64 characters, got "x',
    ],
    [
      'a change that is no object',
      () => made.reconfigure({ tiers: 5 as never }),
      'tiers must be an object, got 5',
    ],
    [
      'a misspelt change',
      () => made.reconfigure({ teirs: {} } as never),
      'change has no option "te',
    ],
    [
      'with waits',
      () => made.waitSync('a', 1, { tier: 'x' }),
      'tier must be one of pro, odd, got "x"',
    ],
  ])('%s', (_, call, message) => {
    expect(call).toThrow(message);
  });
});

// A change means for a key what it means for a limiter of its own: see keyed-references.test.ts, too.

const KERNELS = ['wasm', 'atomics'] as const;

describe.each(KERNELS)('a change of the limits of a table (%s)', (kernel) => {
  const base = () => ({ capacity: 20, clock: ManualClock.create(), kernel });

  test('a waiter of a key is served as soon as the new rate allows, on every thread', async () => {
    const options = base();
    const made = KeyedTokenBucket.create({ rate: 0.1, burst: 1, ...options });
    const other = attach(structuredClone(made.handle));
    made.tryConsume('ann');
    const waits = [made.wait('ann'), other.wait('ann')];
    const over: number[] = [];
    for (const wait of waits) void wait.then(() => over.push(options.clock.nowMs));
    await settled();
    other.reconfigure({ rate: 1000 });
    for (const ms of [0.999, 1, 1.999, 2]) {
      options.clock.set(ms);
      await settled();
      await settled();
    }
    expect(over).toEqual([1, 2]);
    await Promise.all(waits);
  });

  test('keys without a place share a bucket that follows every change', () => {
    const options = { ...base(), capacity: 1 };
    const made = KeyedTokenBucket.create({ rate: 1, burst: 10, ...options });
    for (let i = 0; i < 2; i++) made.charge(i, 1e6);
    expect(made.consumeOrDrain('ann', 100)).toBe(10);
    const reserved = made.reserve('bob');
    made.reconfigure({ rate: 1000 });
    expect([reserved?.dueUs, made.stats().shared]).toEqual([1000, 2]);
    options.clock.advance(10);
    expect(made.balance('cid')).toBe(9);
  });
});
