import { describe, expect, test } from 'vitest';
import {
  KeyedFixedWindow,
  KeyedLimitSet,
  KeyedTokenBucket,
  ManualClock,
  Semaphore,
  TokenBucket,
} from '../../src/index.ts';
import { Api, CLIENTS } from '../support/api.ts';
import { bucketOf } from '../support/manual-bucket.ts';
import { settled, until } from '../support/settled.ts';
import { watched } from '../support/watched.ts';

/** Too slow for a token to come. */
const NEVER = 1e-6;

describe.each(CLIENTS)('$name', ({ client }) => {
  test.each([
    ['429 and seconds', 429, { 'retry-after': '2' }, 2000],
    ['429 and a fraction of a second', 429, { 'retry-after': '0.25' }, 250],
    ['429 and a date', 429, DATES('Sun, 06 Nov 1994 08:49:37 GMT', 4), 4000],
    ['429 alone', 429, {}, 700],
    ['429 and nonsense', 429, { 'retry-after': '-5' }, 700],
    ['429 and a day', 429, { 'retry-after': '86400' }, 9000],
    ['503 and seconds', 503, { 'retry-after': '2' }, 2000],
    ['429 and a past date', 429, DATES('Sun, 06 Nov 1994 08:49:37 GMT', -4), 0],
    ['503 alone', 503, {}, 0],
    ['200 and seconds', 200, { 'retry-after': '2' }, 0],
  ] as const)('holds up an origin after %s, over all threads', async (_, status, headers, ms) => {
    const { api, clock } = await Api.clocked((_, response) =>
      response.writeHead(status, headers).end(),
    );
    const other = await Api.start((_, response) => response.end());
    const limiter = KeyedTokenBucket.create({ rate: 1000, burst: 2, capacity: 10, clock });
    const send = client({ limiter, retryAfterMs: 700, maxRetryAfterMs: 9000 });
    expect((await send(api.url)).status).toBe(status);
    const { origin } = new URL(api.url);
    const elsewhere = KeyedTokenBucket.attach(limiter.handle);
    expect(elsewhere.timeUntil(origin, 1)).toBe(ms === 0 ? 0 : ms + 1);
    await send(other.url);
    const second = send(api.url);
    await settled();
    for (let at = 0; at < ms; at += 50) {
      expect(api.paths).toHaveLength(1);
      clock.advance(50);
      await settled();
    }
    clock.advance(1);
    await second;
  });

  test('an answer holds up an origin that nothing else limits', async () => {
    const headers = { 'retry-after': '2' };
    const { api, clock } = await Api.clocked((_, response) =>
      response.writeHead(429, headers).end(),
    );
    const unlimited = { rate: Number.POSITIVE_INFINITY, burst: 1 };
    const table = { capacity: 10, clock };
    for (const limiter of [
      KeyedTokenBucket.create({ ...unlimited, ...table }),
      KeyedLimitSet.create({ limits: [unlimited, unlimited], ...table }),
    ]) {
      const send = client({ limiter });
      const sent = api.paths.length;
      await send(api.url);
      const second = send(api.url);
      await settled();
      for (let at = 0; at < 2000; at += 100) {
        expect(api.paths).toHaveLength(sent + 1);
        clock.advance(100);
        await settled();
      }
      await second;
    }
  });

  test('without a keyed limiter an answer holds up the requests of this client', async () => {
    const headers = { 'retry-after': '2' };
    const api = await Api.start((_, response) => response.writeHead(429, headers).end());
    const other = await Api.start((_, response) => response.end());
    const { clock, limiter } = bucketOf(1000, 10);
    for (const key of [undefined, 'origin'] as const) {
      const send = client({ limiter, ...(key && { key }) });
      const sent = api.paths.length;
      await send(api.url);
      const second = send(api.url);
      const elsewhere = send(other.url);
      if (key === 'origin') await elsewhere;
      await settled();
      for (let at = 0; at < 2000; at += 100) {
        expect(api.paths).toHaveLength(sent + 1);
        clock.advance(100);
        await settled();
      }
      await Promise.all([second, elsewhere]);
    }
  });

  test('a longer hold stays, and a request that waits for one keeps no permit', async () => {
    const held = ['3', '1'];
    const api = await Api.start((_, response) =>
      response.writeHead(429, { 'retry-after': held.shift() ?? '0' }).end(),
    );
    const other = await Api.start((_, response) => response.end());
    const clock = ManualClock.create();
    const semaphore = Semaphore.create({ permits: 2, clock });
    const send = client({ semaphore, key: 'origin' });
    await Promise.all([send(api.url), send(api.url)]);
    await until(() => semaphore.inUse() === 0);
    const third = send(api.url);
    await settled();
    expect(semaphore.inUse()).toBe(0);
    await send(other.url);
    for (let second = 0; second < 3; second++) {
      expect(api.paths).toHaveLength(2);
      clock.advance(1000);
      await settled();
    }
    await third;
  });

  test('a permit that comes after the key is held up goes back', async () => {
    const { api, clock } = await Api.clocked();
    const other = await Api.start((_, response) => response.end('ok'));
    const semaphore = Semaphore.create({ permits: 1, clock });
    const limiter = KeyedTokenBucket.create({ rate: 1000, burst: 9, capacity: 10, clock });
    const send = client({ limiter, semaphore });
    const first = send(api.url);
    await api.arrivals(1);
    const second = watched(send(api.url));
    await settled();
    expect(semaphore.waiting).toBe(1);
    api.open[0]?.writeHead(429, { 'retry-after': '1' }).end();
    await (await first).text();
    expect(await (await send(other.url)).text()).toBe('ok');
    clock.advance(960);
    await settled();
    clock.advance(41);
    await api.arrivals(2);
    api.open[1]?.end();
    await second;
  });

  test.each([true, false])(
    'a block while the token is almost due holds no permit, with catchUp: %s',
    async (catchUp) => {
      const { api, clock } = await Api.clocked((_, response) => response.end());
      const other = await Api.start((_, response) => response.end());
      const semaphore = Semaphore.create({ permits: 1, clock });
      const limiter = KeyedFixedWindow.create({ limit: 1, intervalMs: 40, capacity: 10, clock });
      const send = client({ limiter, semaphore, catchUp });
      const { origin } = new URL(api.url);
      limiter.tryConsume(origin);
      const held = send(api.url);
      await settled();
      limiter.block(origin, 5000);
      for (let ms = 0; ms < 4000; ms += 100) {
        expect(semaphore.inUse()).toBe(0);
        clock.advance(100);
        await settled();
      }
      await send(other.url);
      expect(api.paths).toEqual([]);
      while (api.paths.length === 0) {
        expect(clock.nowMs).toBeLessThan(5100);
        clock.advance(10);
        await settled();
      }
      await held;
    },
  );

  // docs/outgoing.md: "With a keyed limiter, each thread may also start one more request"
  test('a block lets one request start whose token is almost due', async () => {
    const { api, clock } = await Api.clocked((_, response) => response.end());
    const limiter = KeyedTokenBucket.create({ rate: 25, burst: 1, capacity: 10, clock });
    const send = client({ limiter });
    const { origin } = new URL(api.url);
    const replies = Array.from({ length: 4 }, () => send(api.url));
    await replies[0];
    await settled();
    limiter.block(origin, 5000);
    for (let ms = 0; ms < 4900; ms += 100) {
      clock.advance(100);
      await settled();
    }
    expect(api.paths.length).toBeLessThanOrEqual(2);
    for (let ms = 0; ms < 1000; ms += 20) {
      clock.advance(20);
      await settled();
    }
    await Promise.all(replies);
  });

  test('a raised limit and a reset key are noticed within a second', async () => {
    const { api, clock } = await Api.clocked((_, response) => response.end());
    const bucket = TokenBucket.create({ rate: NEVER, burst: 1, initial: 0, clock });
    const keyed = KeyedTokenBucket.create({ rate: NEVER, burst: 1, capacity: 10, clock });
    const { origin } = new URL(api.url);
    keyed.block(origin, 1e6);
    const replies = [bucket, keyed].map((limiter) => client({ limiter })(api.url));
    await settled();
    bucket.reconfigure({ rate: 1e6 });
    keyed.reset(origin);
    expect(api.paths).toEqual([]);
    clock.advance(1000);
    await settled();
    clock.advance(1);
    await Promise.all(replies);
  });

  test('makes up for a late start, or with catchUp: false counts it from when it came', async () => {
    const api = await Api.start((_, response) => response.end());
    for (const [catchUp, secondMs] of [
      [true, 2],
      [false, 2.75],
    ] as const) {
      const { clock, limiter } = bucketOf(1000, 1, 0);
      const send = client({ limiter, catchUp });
      const replies = [send(api.url), send(api.url)];
      const sent = api.paths.length;
      await settled();
      clock.advance(1.75); // 0.75 ms late
      await replies[0];
      await settled();
      expect(api.paths).toHaveLength(sent + 1);
      expect(clock.nextMs()).toBeCloseTo(secondMs, 2);
      clock.advanceToNext();
      await replies[1];
    }
  });

  test.each([true, false])('waits while a limiter is paused, with catchUp: %s', async (catchUp) => {
    const { api, clock } = await Api.clocked((_, response) => response.end());
    const limiter = TokenBucket.create({ rate: 0, burst: 1, initial: 0, clock });
    const reply = client({ limiter, catchUp })(api.url);
    await settled();
    limiter.reconfigure({ rate: 1000 });
    await settled();
    expect(api.paths).toEqual([]);
    clock.advance(1);
    await reply;
  });
});

/** A response's own date, and one some seconds later. */
function DATES(date: string, seconds: number) {
  const later = new Date(Date.parse(date) + seconds * 1000).toUTCString();
  return { date, 'retry-after': later };
}
