import { inspect } from 'node:util';
import { describe, expect, expectTypeOf, test } from 'vitest';
import * as host from '../../src/host.ts';
import * as core from '../../src/index.ts';
import {
  allOf,
  attach,
  FixedWindow,
  KeyedFixedWindow,
  KeyedTokenBucket,
  LeakyBucket,
  type Limiter,
  LimitSet,
  ManualClock,
  Semaphore,
  SlidingLog,
  SlidingWindow,
  Sometimes,
  TokenBucket,
} from '../../src/index.ts';
import {
  ConsistentRateLimitingSampler,
  RemoteSampler,
} from '../../src/integrations/opentelemetry.ts';
import * as redis from '../../src/integrations/redis.ts';
import { hostRegion } from '../support/host.ts';

type Class = new (...args: unknown[]) => object;

describe('a class that create and its like make says so to new', () => {
  const made: readonly [use: string, made: unknown][] = [
    ['TokenBucket.create(options)', TokenBucket],
    ['LeakyBucket.create(options)', LeakyBucket],
    ['FixedWindow.create(options)', FixedWindow],
    ['SlidingWindow.create(options)', SlidingWindow],
    ['SlidingLog.create(options)', SlidingLog],
    ['KeyedTokenBucket.create(options)', KeyedTokenBucket],
    ['KeyedFixedWindow.create(options)', KeyedFixedWindow],
    ['LimitSet.create(options)', LimitSet],
    ['KeyedLimitSet.create(options)', core.KeyedLimitSet],
    ['Sometimes.create(options)', Sometimes],
    ['Semaphore.create(options)', Semaphore],
    ['bucket.lease({ size })', core.Lease],
    ['Region.create()', core.Region],
    ['ManualClock.create(options)', core.ManualClock],
    ['TickerClock.create(options)', core.TickerClock],
    ['HostRegion.open({ path })', host.HostRegion],
    ['RedisTokenBucket.create(options)', redis.RedisTokenBucket],
    ['RedisKeyedTokenBucket.create(options)', redis.RedisKeyedTokenBucket],
    ['RedisLimitSet.create(options)', redis.RedisLimitSet],
    ['RedisKeyedLimitSet.create(options)', redis.RedisKeyedLimitSet],
    ['FleetBucket.create(options)', redis.FleetBucket],
    ['FleetSpender.attach(handle)', redis.FleetSpender],
    ['ConsistentRateLimitingSampler.create(options)', ConsistentRateLimitingSampler],
    ['RemoteSampler.create(options)', RemoteSampler],
  ];

  test.each(made)('%s', (use, one) => {
    const { name } = one as Class;
    for (const args of [[{}], [], [{ rate: 1, burst: 1 }], [null], ['api']]) {
      expect(() => new (one as Class)(...args)).toThrow(
        new TypeError(`${name} has no public constructor: use ${use}`),
      );
    }
  });

  test('every public class with create, open or attach is listed', () => {
    const classes = Object.values({ ...core, ...host, ...redis }).filter(
      (value) => typeof value === 'function' && ('create' in value || 'attach' in value),
    );
    expect(classes.length).toBeGreaterThan(15);
    for (const one of classes) expect(made.map(([, known]) => known)).toContain(one);
  });
});

const clock = ManualClock.create();
const bucket = () => TokenBucket.create({ rate: 3, burst: 10, clock });
const window = { limit: 5, intervalMs: 60_000, clock };

describe('a limiter in a log and in JSON shows its limit and its state:', () => {
  test.each([
    ['TokenBucket { rate: 3, burst: 10, tokens: 10 }', bucket()],
    [
      'TokenBucket { quantum: 2, fillIntervalMs: 0.1, burst: 10, tokens: 4 }',
      TokenBucket.create({ quantum: 2, fillIntervalMs: 0.1, burst: 10, initial: 4, clock }),
    ],
    [
      'TokenBucket { rate: Infinity, burst: Infinity, tokens: Infinity }',
      TokenBucket.create({ rate: Infinity, burst: Infinity, clock }),
    ],
    [
      'LeakyBucket { rate: 0.333333333, slack: 2, tokens: 1 }',
      LeakyBucket.create({ rate: 1 / 3, slack: 2, clock }),
    ],
    ['FixedWindow { limit: 5, intervalMs: 60000, tokens: 5 }', FixedWindow.create(window)],
    [
      'SlidingWindow { limit: 5, intervalMs: 60000, slots: 6, tokens: 5 }',
      SlidingWindow.create({ ...window, slots: 6 }),
    ],
    ['SlidingLog { limit: 5, intervalMs: 60000, tokens: 5 }', SlidingLog.create(window)],
    [
      'KeyedTokenBucket { rate: 3, burst: 10 }',
      KeyedTokenBucket.create({ rate: 3, burst: 10, capacity: 5, clock }),
    ],
    [
      'KeyBucket { rate: 3, burst: 10, tokens: 10 }',
      KeyedTokenBucket.create({ rate: 3, burst: 10, capacity: 5, clock }).for('ann'),
    ],
    [
      'KeyedFixedWindow { limit: 5, intervalMs: 60000 }',
      KeyedFixedWindow.create({ ...window, capacity: 5 }),
    ],
    [
      'KeyWindow { limit: 5, intervalMs: 60000, tokens: 5 }',
      KeyedFixedWindow.create({ ...window, capacity: 5 }).for('ann'),
    ],
    [
      'Lease { size: 4, stock: 0, of: TokenBucket { rate: 3, burst: 10, tokens: 10 } }',
      bucket().lease({ size: 4 }),
    ],
    [
      'allOf { 0: TokenBucket { rate: 3, burst: 10, tokens: 10 }, 1: SlidingLog { limit: 5, intervalMs: 60000, tokens: 5 } }',
      allOf(bucket(), SlidingLog.create(window)),
    ],
    ['Semaphore { permits: 3, inUse: 0 }', Semaphore.create({ permits: 3, clock })],
    [
      'Sometimes { first: 3, every: 0, intervalMs: 500 }',
      Sometimes.create({ first: 3, intervalMs: 500, clock }),
    ],
    [
      'allOf { 0: Semaphore { permits: 3, inUse: 0 }, 1: TokenBucket { rate: 3, burst: 10, tokens: 10 } }',
      allOf(Semaphore.create({ permits: 3, clock }), bucket()),
    ],
    [
      'LimitSet { limits: 1 at 1/s and 9 at 2/s, tokens: 1 }',
      LimitSet.create({ limits: [1, 9].map((burst, i) => ({ rate: 1 + i, burst })), clock }),
    ],
  ])('%s', (text, limiter) => {
    expect(`${limiter}`).toBe(text);
    expect(inspect(limiter)).toBe(text);
    expect(inspect({ limiter }, { breakLength: Infinity })).toBe(`{ limiter: ${text} }`);
    const json = JSON.stringify(limiter);
    expect(JSON.parse(json).limiter).toBe(text.split(' ')[0]);
    expect(json).not.toMatch(/memory|kernel|clock/);
  });

  test('its debt', () => {
    const limiter = bucket();
    limiter.charge(12.5);
    expect(`${limiter}`).toBe('TokenBucket { rate: 3, burst: 10, tokens: 0, debt: 2.5 }');
    const empty = TokenBucket.create({
      rate: 3,
      burst: 10,
      initial: 0,
      clock: ManualClock.create(),
    });
    expect(`${empty}`).toBe('TokenBucket { rate: 3, burst: 10, tokens: 0 }');
  });

  test('or why it cannot be read, without throwing', () => {
    const limiter = bucket();
    const { memory, offset } = limiter.handle;
    const buffer = 'buffer' in memory ? memory.buffer : memory;
    new Uint8Array(buffer, offset).fill(255, 0, 576);
    expect(`${limiter}`).toMatch(/^limiter \{ unreadable: .* \}$/);
    expect(() => JSON.stringify(limiter)).not.toThrow();
  });
});

describe('JSON.stringify of', () => {
  test('a limiter gives its class, limit and state', () => {
    const limiter = bucket();
    limiter.tryConsume(4);
    const state = { limiter: 'TokenBucket', rate: 3, burst: 10, tokens: 6 };
    expect(JSON.parse(JSON.stringify(limiter))).toEqual(state);
    expect(JSON.stringify(FixedWindow.create(window))).toBe(
      '{"limiter":"FixedWindow","limit":5,"intervalMs":60000,"tokens":5}',
    );
    expect(JSON.stringify(Semaphore.create({ permits: 3 }))).toBe(
      '{"limiter":"Semaphore","permits":3,"inUse":0}',
    );
  });

  test('a fleet bucket names its stock', async () => {
    const source = { consumeOrDrain: async (n: number) => n, returnTokens: async () => undefined };
    const fleet = await redis.FleetBucket.create({ source, stock: 100, minStock: 10 });
    expect(JSON.parse(JSON.stringify(fleet))).toMatchObject({ limiter: 'FleetBucket', stock: 100 });
    await fleet.close();
  });

  test('a region gives its size, and its file', () => {
    const bytes = 65_536;
    const region = core.Region.create({ bytes });
    expect(JSON.parse(JSON.stringify(region))).toEqual({ bytes, bytesFree: region.bytesFree });
    const { path, bytesFree } = hostRegion({ bytes });
    expect(JSON.parse(JSON.stringify(hostRegion({ path })))).toEqual({ bytes, bytesFree, path });
  });
});

test('attach infers the class of a typed handle, and the common methods of any other', () => {
  const window = FixedWindow.create({ limit: 1, intervalMs: 1000 });
  expectTypeOf(attach(window.handle)).toEqualTypeOf<FixedWindow>();
  // biome-ignore lint/suspicious/noExplicitAny: the type of `workerData`
  const untyped: any = window.handle;
  const limiter = attach(untyped);
  expectTypeOf(limiter).toEqualTypeOf<Limiter>();
  expect(limiter.tryConsume()).toBe(true);
  expectTypeOf(attach<'fixed-window'>(untyped)).toEqualTypeOf<FixedWindow>();
  const keyed = KeyedTokenBucket.create({ rate: 1, burst: 1, capacity: 1 });
  expectTypeOf(attach(keyed.handle)).toEqualTypeOf<KeyedTokenBucket>();
});
