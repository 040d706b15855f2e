import fastifyRateLimit, {
  type FastifyRateLimitStoreCtor,
  type RateLimitPluginOptions,
} from '@fastify/rate-limit';
import fastify from 'fastify';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { Region } from '../../../src/index.ts';
import { fastifyRateLimitStore } from '../../../src/integrations/http.ts';
import { BAN, LIMIT, WINDOW_MS } from '../../support/http-store-limits.ts';
import { HAS_REUSE_PORT, HttpThreads } from '../../support/http-threads.ts';

// Clients have names of their own in each test: all use the same threads, which take long to start.
describe('over four threads, through @fastify/rate-limit', () => {
  let threads: HttpThreads;
  beforeAll(async () => {
    threads = await HttpThreads.start('@fastify/rate-limit');
  });
  afterAll(() => threads.stop());

  test('a limit admits exactly its number of requests, and a ban counts those beyond', async () => {
    expect(await threads.rush('/', 'bea', 40)).toEqual({
      200: LIMIT,
      429: BAN,
      403: 40 - LIMIT - BAN,
    });
    // Routes without options of their own count together.
    expect(await threads.rush('/also', 'bea', 2)).toEqual({ 403: 2 });
    expect(await threads.rush('/', 'beabob', 3)).toEqual({ 200: 3 });
  });

  test('all threads know the remaining count, and when the window ends', async () => {
    threads.nextWindow();
    const left: unknown[] = [];
    for (let i = 0; i < LIMIT; i++) {
      const { headers } = await threads.ask('/', 'cay');
      left.push([headers['x-ratelimit-remaining'], headers['x-ratelimit-reset']]);
    }
    expect(left).toEqual(['4', '3', '2', '1', '0'].map((remaining) => [remaining, '60']));
    threads.clock.advance(19_500);
    const { status, headers, body } = await threads.ask('/', 'cay');
    expect([status, headers['retry-after'], headers['x-ratelimit-reset']]).toEqual([
      429,
      '41',
      '41',
    ]);
    expect(JSON.parse(body).message).toBe('Rate limit exceeded, retry in 41 seconds');
    threads.clock.advance(40_500);
    expect(await threads.rush('/', 'cay', LIMIT + 1)).toEqual({ 200: LIMIT, 429: 1 });
  });

  test('a route with options of its own counts apart, in a window of its own', async () => {
    threads.nextWindow();
    expect(await threads.rush('/own', 'dee', 6)).toEqual({ 200: 2, 429: 4 });
    expect(await threads.rush('/short', 'dee', 6)).toEqual({ 200: 2, 429: 4 });
    expect(await threads.rush('/asked', 'dee', 6)).toEqual({ 200: 2, 429: 4 });
    expect(await threads.rush('/', 'dee', 6)).toEqual({ 200: LIMIT, 429: 1 });
    threads.clock.advance(1000);
    expect(await threads.rush('/asked', 'dee', 6)).toEqual({ 200: 2, 429: 4 });
    expect(await threads.rush('/short', 'dee', 2)).toEqual({ 429: 2 });
    threads.clock.advance(WINDOW_MS / 2 - 1000);
    expect(await threads.rush('/short', 'dee', 6)).toEqual({ 200: 2, 429: 4 });
    expect(await threads.rush('/own', 'dee', 2)).toEqual({ 429: 2 });
  });

  test('routes with one groupId count together', async () => {
    expect(await threads.rush('/one', 'eve', 2)).toEqual({ 200: 2 });
    expect(await threads.rush('/two', 'eve', 4)).toEqual({ 200: 1, 429: 3 });
    expect(await threads.rush('/two', 'evebob', 4)).toEqual({ 200: 3, 429: 1 });
  });

  test('onExceeding, onExceeded and onBanReach are called by the count of all threads', async () => {
    await threads.statuses('/', 'fay', LIMIT + BAN + 1);
    const events: string[] = [];
    for (const _ of threads.ports) {
      events.push(...JSON.parse((await threads.ask('/free', 'fay')).body));
    }
    expect(events.filter((event) => event.startsWith('fay ')).sort()).toEqual([
      'fay banned',
      ...Array(BAN + 1).fill('fay exceeded'),
      ...Array(LIMIT).fill('fay exceeding'),
    ]);
  });

  test('createRateLimit looks without counting, and one limiter counts apart from another', async () => {
    threads.nextWindow();
    const look = async (path: string) => {
      const { current, remaining, isExceeded, ttl } = JSON.parse(
        (await threads.ask(path, 'gia')).body,
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
    const onePort = await HttpThreads.start('@fastify/rate-limit', true);
    onTestFinished(() => onePort.stop());
    expect(new Set(onePort.ports).size).toBe(1);
    const seen = new Set<unknown>();
    while (seen.size < 2) seen.add((await onePort.ask('/free', 'ann')).headers['x-thread']);
    expect(await onePort.rush('/own', 'ann', 40)).toEqual({ 200: 2, 429: 38 });
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

  test('a window of no time fails the request by its name', async () => {
    const app = await appWith({ store: storeIn(Region.create()), timeWindow: 0 });
    const { statusCode, body } = await app.inject('/');
    expect([statusCode, JSON.parse(body).message]).toEqual([
      500,
      'timeWindow must be a number at least 0.001 and at most 100000000000, got 0',
    ]);
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

  test('routes that differ in their constraints only count apart', async () => {
    const store = storeIn(Region.create());
    const apps = [1, 2].map(async () => {
      const app = await appWith({ store, max: 9 });
      const config = { rateLimit: { max: 1 } };
      for (const constraints of [
        { host: 'a.example' },
        { host: /^b/ },
        { version: '1.0.0' },
        { host: 'c.example', version: '1.0.0' },
      ]) {
        app.get('/own', { config, constraints }, async () => 'hello');
      }
      app.get('/own', { config }, async () => 'hello');
      return app;
    });
    const statuses: number[][] = [];
    for (const app of await Promise.all(apps)) {
      const asked = [
        { host: 'a.example' },
        { host: 'b.example' },
        { host: 'd.example', 'accept-version': '1.0.0' },
        { host: 'c.example', 'accept-version': '1.0.0' },
        { host: 'd.example' },
      ];
      const answers: number[] = [];
      for (const headers of asked) {
        answers.push((await app.inject({ url: '/own', headers })).statusCode);
      }
      statuses.push(answers);
    }
    // The second app shares the counts of the first.
    expect(statuses).toEqual([Array(5).fill(200), Array(5).fill(429)]);
  });
});
