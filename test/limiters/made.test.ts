import { inspect } from 'node:util';
import { describe, expect, test } from 'vitest';
import * as host from '../../src/host.ts';
import * as core from '../../src/index.ts';
import {
  ConsistentRateLimitingSampler,
  RemoteSampler,
} from '../../src/integrations/opentelemetry.ts';
import * as redis from '../../src/integrations/redis.ts';
import { hostRegion } from '../support/host.ts';

type Class = new (...args: unknown[]) => object;

const {
  TokenBucket,
  LeakyBucket,
  FixedWindow,
  SlidingWindow,
  SlidingLog,
  KeyedTokenBucket,
  KeyedFixedWindow,
  Sometimes,
  Semaphore,
} = core;

describe('a class that create and its like make says so to new', () => {
  const made: readonly [use: string, made: unknown][] = [
    ['TokenBucket.create(options)', TokenBucket],
    ['LeakyBucket.create(options)', LeakyBucket],
    ['FixedWindow.create(options)', FixedWindow],
    ['SlidingWindow.create(options)', SlidingWindow],
    ['SlidingLog.create(options)', SlidingLog],
    ['KeyedTokenBucket.create(options)', KeyedTokenBucket],
    ['KeyedFixedWindow.create(options)', KeyedFixedWindow],
    ['LimitSet.create(options)', core.LimitSet],
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

describe('JSON.stringify of', () => {
  const shared = { kernel: 'atomics' } as const;
  const bucket = TokenBucket.create({ rate: 1e-6, burst: 10 });
  bucket.tryConsume(4);

  test('a limiter gives its class, limit and state', () => {
    expect(JSON.parse(JSON.stringify(bucket))).toEqual({
      limiter: 'TokenBucket',
      rate: 1e-6,
      burst: 10,
      tokens: expect.closeTo(6),
    });
    const window = FixedWindow.create({ limit: 5, intervalMs: 60_000 });
    expect(JSON.stringify(window)).toBe(
      '{"limiter":"FixedWindow","limit":5,"intervalMs":60000,"tokens":5}',
    );
    expect(JSON.stringify(Semaphore.create({ permits: 3 }))).toBe(
      '{"limiter":"Semaphore","permits":3,"inUse":0}',
    );
  });

  test.each<[string, () => object]>([
    ['LeakyBucket', () => LeakyBucket.create({ rate: 1, slack: 2 })],
    ['SlidingWindow', () => SlidingWindow.create({ limit: 5, intervalMs: 1000, ...shared })],
    ['SlidingLog', () => SlidingLog.create({ limit: 5, intervalMs: 1000 })],
    ['KeyedTokenBucket', () => KeyedTokenBucket.create({ rate: 1, burst: 2, capacity: 4 })],
    ['KeyBucket', () => KeyedTokenBucket.create({ rate: 1, burst: 2, capacity: 4 }).for('ann')],
    ['KeyedFixedWindow', () => KeyedFixedWindow.create({ limit: 1, intervalMs: 1, capacity: 4 })],
    ['Sometimes', () => Sometimes.create({ every: 10 })],
    ['Lease', () => bucket.lease({ size: 4 })],
    ['allOf', () => core.allOf(bucket, TokenBucket.create({ rate: 1, burst: 1 }))],
    ['allOf', () => core.allOf(Semaphore.create({ permits: 3 }), bucket)],
    [
      'LimitSet',
      () =>
        core.LimitSet.create({
          limits: [
            { rate: 1, burst: 1 },
            { rate: 2, burst: 9 },
          ],
        }),
    ],
  ])('%s names no memory, clock or kernel', (limiter, create) => {
    const one = create();
    const text = JSON.stringify({ one });
    expect(JSON.parse(text).one.limiter).toBe(limiter);
    expect(text).not.toMatch(/memory|kernel|clock/);
    expect(inspect(one)).toMatch(new RegExp(`^${limiter} \\{`));
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

  test('a damaged limiter does not throw', () => {
    const one = TokenBucket.create({ rate: 1, burst: 3, region: core.Region.create() });
    const { handle } = one;
    new Int32Array(
      handle.memory instanceof SharedArrayBuffer
        ? handle.memory
        : (handle.memory.buffer as SharedArrayBuffer),
    ).fill(-1);
    expect(() => JSON.stringify(one)).not.toThrow();
  });
});
