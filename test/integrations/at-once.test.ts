import { Piscina } from 'piscina';
import { Tinypool } from 'tinypool';
import { describe, expect, it, onTestFinished } from 'vitest';
import { allOf, type Limiter, Semaphore, TokenBucket } from '../../src/index.ts';
import { rateLimitedFetch } from '../../src/integrations/fetch.ts';
import { RateLimitingSampler } from '../../src/integrations/opentelemetry.ts';
import { throttle } from '../../src/integrations/piscina.ts';
import type { MeasuredLimiter } from '../../src/integrations/prometheus.ts';
import { RedisKeyedTokenBucket, RedisTokenBucket } from '../../src/integrations/redis.ts';
import { throttle as throttleTinypool } from '../../src/integrations/tinypool.ts';
import { rateLimit } from '../../src/integrations/undici.ts';
import { throttled } from '../../src/throttle.ts';
import { scene, scraped } from './scrape.ts';

/** A client of a server that admits everything. */
const client = { evalSha: async () => 1e15, eval: async () => 1e15, on: () => undefined };
const limit = { client, rate: 1, burst: 1 };
const local = TokenBucket.create({ rate: 1, burst: 1 });
const semaphore = Semaphore.create({ permits: 1 });

/** The methods of a bucket, declared async, on its clock. */
const asyncBucket = {
  clock: local.clock,
  limit: 1,
  tryConsume: async () => false,
  wait: async () => ({ waitedMs: 0 }),
  timeUntil: async () => 0,
  for: () => asyncBucket,
};

const LIMITERS: Record<string, unknown> = {
  'a bucket on a server': RedisTokenBucket.create({ ...limit, key: 'a' }),
  'a bucket on a server for each key': RedisKeyedTokenBucket.create({ ...limit, prefix: 'a' }),
  'a bucket with async methods': asyncBucket,
};

const pool = { filename: 'data:text/javascript,export default () => 1', minThreads: 0 };

/** Everything that needs answers at once, and the name by which it takes the limiter. */
const USERS: [title: string, name: string, use: (limiter: never) => unknown][] = [
  ['a sampler', 'limiter', (limiter) => new RateLimitingSampler(limiter)],
  ['a throttled function', 'limiter', (limiter) => throttled(() => 1, { limiter })],
  ['a pool of piscina', 'limiter', (limiter) => throttle(new Piscina(pool), limiter)],
  ['a pool of tinypool', 'limiter', (limiter) => throttleTinypool(new Tinypool(pool), limiter)],
  ['requests of fetch', 'limiter', (limiter) => rateLimitedFetch({ limiter })],
  ['requests of undici', 'limiter', (limiter) => rateLimit({ limiter })],
  ['requests with permits', 'limiter', (limiter) => rateLimit({ limiter, semaphore })],
  ['several limiters', 'limiters[1]', (limiter: Limiter) => allOf(local, limiter)],
  ['a semaphore with a rate', 'limiters[0]', (limiter: Limiter) => allOf(semaphore, limiter)],
];

describe.each(Object.entries(LIMITERS))('%s', (_, limiter) => {
  it.each(USERS)('is refused by %s, when it is given', (_title, name, use) => {
    const message = `${name} must answer at once, got one whose answers are promises`;
    expect(() => use(limiter as never)).toThrow(new TypeError(message));
  });
});

it('a sampler keeps no span if its limiter answers with a promise after all', () => {
  const tryConsume = () => Promise.resolve(true) as never;
  const { decision } = new RateLimitingSampler({ tryConsume }).shouldSample();
  expect(decision).toBe(0);
});

const down = (): Promise<never> => Promise.reject(new Error('down'));

describe('metrics', () => {
  const stats = () => ({ calls: 1, admitted: 1, refused: 0, failedExchanges: 0, waiting: 0 });

  it.each([
    ['values', { stats, limit: 1, available: down, balance: down }],
    ['counts', { stats: down, limit: 1, available: (): number => 1 }],
  ])('refuse a limiter whose %s are promises, when it is added', async (_, limiter: object) => {
    const errors: unknown[] = [];
    const hear = (error: unknown) => errors.push(error);
    process.on('unhandledRejection', hear);
    onTestFinished(() => void process.off('unhandledRejection', hear));
    const { metrics, register } = scene();
    expect(() => metrics.add('a', limiter as MeasuredLimiter)).toThrow(
      'limiter must answer at once',
    );
    expect(await scraped(register)).toEqual([]);
    await new Promise((resolve) => setImmediate(resolve));
    expect(errors).toEqual([]);
  });

  it('of other limiters are read if one throws, or answers with a promise later', async () => {
    const { metrics, register } = scene();
    let answer: () => unknown = () => 1;
    const odd = { stats, limit: 1, available: () => answer() } as MeasuredLimiter;
    metrics.add('odd', odd);
    metrics.add('sound', { stats, limit: 1, available: () => 1 });
    const sound = 'zerotime_available_tokens{limiter="sound"} 1';
    answer = () => {
      throw new Error('broken');
    };
    expect(await scraped(register)).toEqual(
      expect.arrayContaining([sound, 'zerotime_damaged{limiter="odd"} 1']),
    );
    answer = async () => 1;
    const lines = await scraped(register);
    expect(lines).toContain(sound);
    expect(lines.join()).not.toContain('available_tokens{limiter="odd"}');
  });
});
