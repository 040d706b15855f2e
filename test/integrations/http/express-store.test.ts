import { rateLimit, type Store } from 'express-rate-limit';
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { ManualClock, Region } from '../../../src/index.ts';
import { expressRateLimitStore } from '../../../src/integrations/http.ts';
import { LIMIT, WINDOW_MS } from '../../support/http-store-limits.ts';
import { HAS_REUSE_PORT, HttpThreads } from '../../support/http-threads.ts';

// Clients have names of their own in each test: all use the same threads, which take long to start.
describe('over four threads, through express-rate-limit', () => {
  let threads: HttpThreads;
  beforeAll(async () => {
    threads = await HttpThreads.start('express-rate-limit');
  });
  afterAll(() => threads.stop());

  test('a limit admits exactly its number of requests, however many come at once', async () => {
    expect(await threads.rush('/', 'bea', 40)).toEqual({ 200: LIMIT, 429: 40 - LIMIT });
    expect(await threads.rush('/', 'beabob', 3)).toEqual({ 200: 3 });
  });

  test('hits beyond the limit count, and all threads know when the window ends', async () => {
    threads.nextWindow();
    const used: unknown[] = [];
    for (let i = 0; i < LIMIT; i++) {
      const { body } = await threads.ask('/', 'cay');
      const { limit, used: hits, remaining, key } = JSON.parse(body);
      used.push([limit, hits, remaining, key]);
    }
    expect(used).toEqual([1, 2, 3, 4, 5].map((n) => [LIMIT, n, LIMIT - n, 'cay']));
    threads.clock.advance(20_000);
    const before = Date.now();
    const { status, headers } = await threads.ask('/', 'cay');
    const after = Date.now();
    expect([status, headers['retry-after']]).toEqual([429, '40']);
    expect(headers['ratelimit']).toMatch(/r=0; t=40$/);
    expect(Number(headers['x-ratelimit-reset'])).toBeGreaterThanOrEqual(before / 1000 + 40);
    expect(Number(headers['x-ratelimit-reset'])).toBeLessThanOrEqual(after / 1000 + 41);
    await threads.ask('/', 'cay');
    const { totalHits, resetTime } = JSON.parse((await threads.ask('/key', 'cay')).body);
    expect(totalHits).toBe(LIMIT + 2);
    expect(Date.parse(resetTime)).toBeGreaterThanOrEqual(before + 40_000);
  });

  test('the next window begins for all clients at once', async () => {
    threads.nextWindow();
    threads.clock.advance(WINDOW_MS - 1);
    expect(await threads.statuses('/', 'dee', LIMIT + 1)).toEqual([200, 200, 200, 200, 200, 429]);
    threads.clock.advance(1);
    expect(JSON.parse((await threads.ask('/key', 'dee')).body)).toBe(null);
    expect(await threads.rush('/', 'dee', 8)).toEqual({ 200: LIMIT, 429: 3 });
  });

  test('getKey and resetKey of one thread are about the hits of all', async () => {
    await threads.rush('/', 'eve', 8);
    await threads.rush('/', 'evebob', 8);
    for (const _ of threads.ports) {
      expect(JSON.parse((await threads.ask('/key', 'eve')).body).totalHits).toBe(8);
    }
    await threads.ask('/reset', 'eve', 'POST');
    expect(JSON.parse((await threads.ask('/key', 'eve')).body)).toBe(null);
    expect(await threads.rush('/', 'eve', 8)).toEqual({ 200: LIMIT, 429: 3 });
    expect(await threads.rush('/', 'evebob', 4)).toEqual({ 429: 4 });
  });

  test('resetAll of one thread forgets all clients in all threads', async () => {
    for (const client of ['fay', 'faybob']) await threads.rush('/', client, 8);
    await threads.ask('/both', 'faycarl');
    await threads.ask('/reset-all', 'nobody', 'POST');
    for (const client of ['fay', 'faybob']) {
      expect(await threads.rush('/', client, 8)).toEqual({ 200: LIMIT, 429: 3 });
    }
    // Stores of other names count on.
    expect((await threads.ask('/both', 'faycarl')).status).toBe(429);
  });

  test('stores of different names count one request once each', async () => {
    expect(await threads.statuses('/both', 'gia', 3)).toEqual([200, 429, 429]);
    expect(JSON.parse((await threads.ask('/key', 'gia')).body).totalHits).toBe(3);
  });

  test('skipSuccessfulRequests and skipFailedRequests take hits back', async () => {
    /** The middleware takes a hit back after the client has its answer. */
    const countIs = async (of: string, wanted: number) => {
      let count: number;
      do {
        const { body } = await threads.ask(`/key?of=${of}`, 'hal');
        count = JSON.parse(body)?.totalHits ?? 0;
      } while (count !== wanted);
    };
    for (const [of, skipped, counted] of [
      ['failures', 200, 404],
      ['successes', 404, 200],
    ] as const) {
      for (let i = 0; i < 6; i++) {
        expect(await threads.statuses(`/${of}?status=${skipped}`, 'hal', 1)).toEqual([skipped]);
        await countIs(of, 0);
      }
      for (const hits of [1, 2]) {
        expect(await threads.statuses(`/${of}?status=${counted}`, 'hal', 1)).toEqual([counted]);
        await countIs(of, hits);
      }
      expect(await threads.statuses(`/${of}?status=${counted}`, 'hal', 1)).toEqual([429]);
      // The refusal itself is a failed request.
      await countIs(of, of === 'failures' ? 3 : 2);
    }
  });

  test.runIf(HAS_REUSE_PORT)('on one port they keep one limit', async () => {
    const onePort = await HttpThreads.start('express-rate-limit', true);
    onTestFinished(() => onePort.stop());
    expect(new Set(onePort.ports).size).toBe(1);
    const seen = new Set<unknown>();
    while (seen.size < 2) {
      const { headers } = await onePort.ask('/key', 'ann');
      seen.add(headers['x-thread']);
    }
    expect(await onePort.rush('/', 'ann', 40)).toEqual({ 200: LIMIT, 429: 40 - LIMIT });
  });
});

describe('a store in one thread', () => {
  function newStore(options: object = {}) {
    const region = Region.create();
    const clock = ManualClock.open(region, 'clock');
    const store = expressRateLimitStore({ region, capacity: 100, clock, ...options });
    return { store, clock };
  }

  test('is a Store of express-rate-limit', () => {
    const store: Store = newStore().store;
    expect([store.localKeys, store.prefix]).toEqual([false, 'hits ']);
    expect(newStore({ name: 'api' }).store.prefix).toBe('api ');
  });

  test('counts, takes back and forgets', () => {
    const { store, clock } = newStore();
    store.init({ windowMs: 1000 });
    expect(store.get('ann')).toBe(undefined);
    store.decrement('ann');
    expect([1, 2, 3].map(() => store.increment('ann').totalHits)).toEqual([1, 2, 3]);
    store.decrement('ann');
    expect(store.get('ann')?.totalHits).toBe(2);
    for (let i = 0; i < 5; i++) store.decrement('ann');
    expect(store.get('ann')).toBe(undefined);
    expect(store.increment('ann').totalHits).toBe(1);
    store.resetKey('ann');
    expect(store.increment('ann').totalHits).toBe(1);
    store.resetAll();
    expect(store.increment('ann').totalHits).toBe(1);
    clock.advance(1000);
    // A hit of the window before cannot be taken back from this one.
    store.decrement('ann');
    expect(store.increment('ann').totalHits).toBe(1);
  });

  test('counts windows of any length, to the hit', () => {
    for (const windowMs of [1, 17, 1000, 60_000, 86_400_000, 2_592_000_000]) {
      const { store } = newStore();
      store.init({ windowMs });
      const counts = Array.from({ length: 1000 }, () => store.increment('ann').totalHits);
      expect(counts).toEqual(Array.from({ length: 1000 }, (_, i) => i + 1));
    }
  });

  test('ends a window to the millisecond', () => {
    const { store, clock } = newStore();
    store.init({ windowMs: 1000 });
    clock.advance(250.5);
    const before = Date.now();
    const { resetTime } = store.increment('ann');
    const waitMs = resetTime.getTime() - before;
    expect(waitMs).toBeGreaterThanOrEqual(750);
    expect(waitMs).toBeLessThanOrEqual(750 + (Date.now() - before));
  });

  test('follows whenFull for clients that find no place', () => {
    const hits = (whenFull: string) => {
      const { store } = newStore({ capacity: 1, whenFull });
      store.init({ windowMs: 1000 });
      return Array.from({ length: 64 }, (_, i) => store.increment(`client ${i}`).totalHits);
    };
    expect(Math.max(...hits('share'))).toBeGreaterThan(50);
    expect(Math.max(...hits('refuse'))).toBe(2 ** 30);
    expect(new Set(hits('admit'))).toEqual(new Set([1]));
  });

  test('works after a million calls of resetAll', () => {
    const { store } = newStore();
    store.init({ windowMs: 1000 });
    store.increment('ann');
    for (let i = 0; i < 2 ** 20; i++) store.resetAll();
    expect(store.increment('ann').totalHits).toBe(1);
    store.resetAll();
    expect(store.increment('bob').totalHits).toBe(1);
  });

  test('without room in the region, the middleware logs it and each call fails with it', async () => {
    const region = Region.create();
    const store = expressRateLimitStore({ region, capacity: 100_000 });
    const error = vi.fn();
    const limit = rateLimit({ store, windowMs: 1000, logger: { error, warn: error } });
    expect(error.mock.calls[0]?.[0]).toMatchObject({ code: 'ERR_REGION_FULL' });
    expect(() => limit.getKey('ann')).toThrow(expect.objectContaining({ code: 'ERR_REGION_FULL' }));
  });

  test('throws before init', () => {
    expect(() => newStore().store.increment('ann')).toThrow(
      'init must be called before other methods of the store',
    );
  });

  test('stores of one name must agree on their capacity', () => {
    const region = Region.create();
    expressRateLimitStore({ region, capacity: 100 }).init({ windowMs: 1000 });
    const other = expressRateLimitStore({ region, capacity: 200 });
    expect(() => other.init({ windowMs: 1000 })).toThrow(
      expect.objectContaining({ code: 'ERR_NAME_MISMATCH' }),
    );
  });

  test.each([
    [{ name: 5 }, 'name must be a string, got 5'],
    [{ name: 'é'.repeat(46) }, 'name must have at most 90 bytes in UTF-8, got 92'],
    [{ max: 5 }, 'options has no option "max"'],
    [{ region: {} }, 'region must be a Region, got an object'],
    [{ capacity: 0 }, 'capacity must be an integer at least 1 and at most 67000000, got 0'],
    [{ whenFull: 'wait' }, 'whenFull must be one of share, refuse, admit, got "wait"'],
    [{ clock: Date }, 'clock must be a Clock, got a function'],
    [{ region: undefined }, 'region must be a Region, got undefined'],
  ])('%j is refused before the first request: %s', (options, message) => {
    expect(() => newStore(options)).toThrow(message);
  });

  test('a manual clock of another region is refused before the first request', () => {
    const region = Region.create();
    const { bytesFree } = region;
    const clock = ManualClock.create();
    const message =
      'the clock of a named limiter must be the system clock, or a ManualClock opened in its region';
    expect(() => newStore({ region, clock })).toThrow(message);
    expect(region.bytesFree).toBe(bytesFree);
  });

  test('the longest name leaves room for any windowMs', () => {
    const { store } = newStore({ name: 'n'.repeat(90) });
    store.init({ windowMs: 0.0010000000000000002 });
    expect(store.increment('ann').totalHits).toBe(1);
  });

  test.each([-1, 0, Number.NaN, 1e12])('a windowMs of %d is refused by its name', (windowMs) => {
    const message = `windowMs must be a number at least 0.001 and at most 100000000000, got ${windowMs}`;
    expect(() => newStore().store.init({ windowMs })).toThrow(message);
  });
});
