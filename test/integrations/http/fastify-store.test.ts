import fastifyRateLimit, {
  type FastifyRateLimitStoreCtor,
  type RateLimitPluginOptions,
} from '@fastify/rate-limit';
import fastify from 'fastify';
import { describe, expect, onTestFinished, test } from 'vitest';
import { Region } from '../../../src/index.ts';
import { fastifyRateLimitStore } from '../../../src/integrations/http.ts';
import { BAN, LIMIT, WINDOW_MS } from '../../support/http-store-limits.ts';
import { HAS_REUSE_PORT, HttpThreads } from '../../support/http-threads.ts';

describe('over four threads, through @fastify/rate-limit', () => {
  const start = () => HttpThreads.start('@fastify/rate-limit');

  test('a limit admits exactly its number of requests, and a ban counts those beyond', async () => {
    const threads = await start();
    expect(await threads.rush('/', 'ann', 40)).toEqual({
      200: LIMIT,
      429: BAN,
      403: 40 - LIMIT - BAN,
    });
    // Routes without options of their own count together.
    expect(await threads.rush('/also', 'ann', 2)).toEqual({ 403: 2 });
    expect(await threads.rush('/', 'bob', 3)).toEqual({ 200: 3 });
  });

  test('all threads know what is left, and when the window ends', async () => {
    const threads = await start();
    const left: unknown[] = [];
    for (let i = 0; i < LIMIT; i++) {
      const { headers } = await threads.ask('/', 'ann');
      left.push([headers['x-ratelimit-remaining'], headers['x-ratelimit-reset']]);
    }
    expect(left).toEqual(['4', '3', '2', '1', '0'].map((remaining) => [remaining, '60']));
    threads.clock.advance(19_500);
    const { status, headers, body } = await threads.ask('/', 'ann');
    expect([status, headers['retry-after'], headers['x-ratelimit-reset']]).toEqual([
      429,
      '41',
      '41',
    ]);
    expect(JSON.parse(body).message).toBe('Rate limit exceeded, retry in 41 seconds');
    threads.clock.advance(40_500);
    expect(await threads.rush('/', 'ann', LIMIT + 1)).toEqual({ 200: LIMIT, 429: 1 });
  });

  test('a route with options of its own counts apart, in a window of its own', async () => {
    const threads = await start();
    expect(await threads.rush('/own', 'ann', 6)).toEqual({ 200: 2, 429: 4 });
    expect(await threads.rush('/short', 'ann', 6)).toEqual({ 200: 2, 429: 4 });
    expect(await threads.rush('/asked', 'ann', 6)).toEqual({ 200: 2, 429: 4 });
    expect(await threads.rush('/', 'ann', 6)).toEqual({ 200: LIMIT, 429: 1 });
    threads.clock.advance(1000);
    expect(await threads.rush('/asked', 'ann', 6)).toEqual({ 200: 2, 429: 4 });
    expect(await threads.rush('/short', 'ann', 2)).toEqual({ 429: 2 });
    threads.clock.advance(WINDOW_MS / 2 - 1000);
    expect(await threads.rush('/short', 'ann', 6)).toEqual({ 200: 2, 429: 4 });
    expect(await threads.rush('/own', 'ann', 2)).toEqual({ 429: 2 });
  });

  test('routes with one groupId count together', async () => {
    const threads = await start();
    expect(await threads.rush('/one', 'ann', 2)).toEqual({ 200: 2 });
    expect(await threads.rush('/two', 'ann', 4)).toEqual({ 200: 1, 429: 3 });
    expect(await threads.rush('/two', 'bob', 4)).toEqual({ 200: 3, 429: 1 });
  });

  test('onExceeding, onExceeded and onBanReach are called by the count of all threads', async () => {
    const threads = await start();
    await threads.statuses('/', 'ann', LIMIT + BAN + 1);
    const events: string[] = [];
    for (const _ of threads.ports) {
      events.push(...JSON.parse((await threads.ask('/free', 'ann')).body));
    }
    expect(events.sort()).toEqual([
      'ann banned',
      ...Array(BAN + 1).fill('ann exceeded'),
      ...Array(LIMIT).fill('ann exceeding'),
    ]);
  });

  test('createRateLimit looks without counting, and one limiter counts apart from another', async () => {
    const threads = await start();
    const look = async (path: string) => {
      const { current, remaining, isExceeded, ttl } = JSON.parse(
        (await threads.ask(path, 'ann')).body,
      );
      return { current, remaining, isExceeded, ttl };
    };
    expect(await look('/peek')).toEqual({ remaining: 2, isExceeded: false, ttl: 0 });
    for (let i = 0; i < 3; i++) await look('/take');
    expect(await look('/peek')).toEqual({ remaining: 0, isExceeded: true, ttl: WINDOW_MS });
    expect(await look('/peek')).toEqual({ remaining: 0, isExceeded: true, ttl: WINDOW_MS });
    expect(await look('/other')).toEqual({ remaining: 1, isExceeded: false, ttl: WINDOW_MS });
  });

  test.runIf(HAS_REUSE_PORT)('on one port they keep one limit', async () => {
    const threads = await HttpThreads.start('@fastify/rate-limit', true);
    expect(new Set(threads.ports).size).toBe(1);
    const seen = new Set<unknown>();
    while (seen.size < 2) seen.add((await threads.ask('/free', 'ann')).headers['x-thread']);
    expect(await threads.rush('/own', 'ann', 40)).toEqual({ 200: 2, 429: 38 });
  });
});

describe('in one thread', () => {
  function storeIn(region: Region, capacity = 100): FastifyRateLimitStoreCtor {
    return fastifyRateLimitStore({ region, capacity });
  }

  async function appWith(options: RateLimitPluginOptions) {
    const app = fastify();
    onTestFinished(() => app.close());
    await app.register(fastifyRateLimit, options);
    app.get('/', async () => 'hello');
    return app;
  }

  test.each(['continueExceeding', 'exponentialBackoff'])(
    '%s, which starts the window of one client anew, is refused',
    async (option) => {
      const store = storeIn(Region.create());
      const message = `${option} must be false with this store`;
      await expect(appWith({ store, [option]: true })).rejects.toThrow(message);
      const app = await appWith({ store, [option]: false });
      const config = { rateLimit: { [option]: true } };
      expect(() => app.get('/own', { config }, async () => 'hello')).toThrow(message);
    },
  );

  test('an error of the store fails the request, unless skipOnError lets it pass', async () => {
    const store = storeIn(Region.create(), 100_000); // more than fits
    const failing = await appWith({ store, max: 1 });
    const { statusCode, body } = await failing.inject('/');
    expect([statusCode, JSON.parse(body).code]).toEqual([500, 'ERR_REGION_FULL']);
    const skipping = await appWith({ store, max: 1, skipOnError: true });
    expect((await skipping.inject('/')).statusCode).toBe(200);
  });

  test('routes cannot be confused, whatever clients call themselves', async () => {
    const store = storeIn(Region.create());
    const app = await appWith({ store, max: 1, keyGenerator: ({ headers }) => `${headers['x']}` });
    app.get('/own', { config: { rateLimit: { max: 1 } } }, async () => 'hello');
    const ask = async (url: string, x: string) =>
      (await app.inject({ url, headers: { x } })).statusCode;
    expect(await ask('/', 'GET /own ann')).toBe(200);
    expect(await ask('/', 'GET /own\nann')).toBe(200);
    expect(await ask('/own', 'ann')).toBe(200);
    expect(await ask('/own', 'ann')).toBe(429);
  });
});
