import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, test } from 'vitest';
import {
  FixedWindow,
  KeyedFixedWindow,
  KeyedTokenBucket,
  ManualClock,
  Semaphore,
  SlidingLog,
  TokenBucket,
} from '../../src/index.ts';
import { Api, CLIENTS } from '../support/api.ts';
import { settled } from '../support/settled.ts';
import { until } from '../support/throttled.ts';

const TIMEOUT = { code: 'ERR_RATE_LIMIT_TIMEOUT' };
/** Too slow for a token to come. */
const NEVER = 1e-6;

/** A rejection that the test looks at later. */
function watched<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => undefined);
  return promise;
}

/** The error behind what a client rejects with: fetch wraps what its dispatcher fails with. */
async function reasonOf(promise: Promise<unknown>): Promise<unknown> {
  const error = await promise.then(
    () => undefined,
    (error: Error) => error,
  );
  return error instanceof TypeError && error.cause !== undefined ? error.cause : error;
}

describe.each(CLIENTS)('$name', ({ client }) => {
  test('sends the burst at once, and others when their tokens are due, in order', async () => {
    const api = await Api.start((_, response) => response.end('ok'));
    const clock = ManualClock.create();
    const send = client({ limiter: TokenBucket.create({ rate: 10, burst: 2, clock }) });
    const paths = ['1', '2', '3', '4', '5'];
    const replies = paths.map((path) => send(api.url + path));
    for (const reply of replies.slice(0, 2)) expect(await (await reply).text()).toBe('ok');
    for (const reply of replies.slice(2)) {
      await settled();
      const sent = api.paths.length;
      clock.advance(99);
      await settled();
      expect(api.paths).toHaveLength(sent);
      clock.advance(1);
      expect((await reply).status).toBe(200);
      expect(api.paths).toHaveLength(sent + 1);
    }
    expect(api.paths.slice(2)).toEqual(['/3', '/4', '/5']);
  });

  test('waits for each kind of limiter', async () => {
    const api = await Api.start((_, response) => response.end());
    const clock = ManualClock.create();
    for (const limiter of [
      FixedWindow.create({ limit: 1, intervalMs: 500, clock }),
      SlidingLog.create({ limit: 1, intervalMs: 500, clock }),
      KeyedFixedWindow.create({ limit: 1, intervalMs: 500, capacity: 10, clock }),
      KeyedTokenBucket.create({ rate: 2, burst: 1, capacity: 10, clock }).for('all'),
    ]) {
      const send = client({ limiter });
      const sent = api.paths.length;
      await send(api.url);
      const second = send(api.url);
      await settled();
      expect(api.paths).toHaveLength(sent + 1);
      while (api.paths.length < sent + 2) {
        clock.advanceToNext();
        await settled();
      }
      await second;
    }
    expect(clock.nowMs).toBeGreaterThanOrEqual(2000);
  });

  test('a request that comes later does not overtake one that waits', async () => {
    const api = await Api.start((_, response) => response.end());
    const clock = ManualClock.create();
    const limiter = FixedWindow.create({ limit: 1, intervalMs: 500, clock });
    const send = client({ limiter });
    await send(`${api.url}1`);
    const second = send(`${api.url}2`);
    await settled();
    clock.advance(500);
    const third = send(`${api.url}3`);
    await second;
    while (api.paths.length < 3) {
      await settled();
      clock.advanceToNext();
    }
    await third;
    expect(api.paths).toEqual(['/1', '/2', '/3']);
  });

  test('keeps a limit for each origin', async () => {
    const answer = await Api.start((_, response) => response.end());
    const other = await Api.start((_, response) => response.end());
    const clock = ManualClock.create();
    const limiter = KeyedTokenBucket.create({ rate: 1, burst: 1, capacity: 10, clock });
    const send = client({ limiter });
    await send(`${answer.url}a`);
    await send(`${other.url}a`);
    const second = send(`${answer.url}b`);
    await settled();
    expect(limiter.available(new URL(answer.url).origin)).toBe(0);
    expect([answer.paths, other.paths]).toEqual([['/a'], ['/a']]);
    clock.advance(1000);
    await settled();
    clock.advanceToNext();
    await second;
    expect(answer.paths).toEqual(['/a', '/b']);
  });

  test('holds a permit until the body has ended, failed or been cancelled, and returns it once', async () => {
    const api = await Api.start();
    const semaphore = Semaphore.create({ permits: 3 });
    const send = client({ semaphore });
    const inUse = (count: number) => until(() => semaphore.inUse() === count);
    const [bystander, kept] = [watched(send(`${api.url}1`)), watched(send(`${api.url}2`))];
    await api.arrivals(2);
    expect(semaphore.inUse()).toBe(2);

    const read = send(`${api.url}3`);
    await api.arrivals(3);
    const ended = api.open[2];
    ended?.write('half');
    const reply = await read;
    expect(semaphore.inUse()).toBe(3);
    ended?.end(' and half');
    expect(await reply.text()).toBe('half and half');
    await inUse(2);

    const dropped = send(`${api.url}4`);
    await api.arrivals(4);
    api.open[3]?.write('half');
    await (await dropped).cancel();
    await inUse(2);

    const broken = send(`${api.url}5`);
    await api.arrivals(5);
    api.open[4]?.write('half');
    const half = await broken;
    api.open[4]?.destroy();
    await expect(half.text()).rejects.toThrow();
    await inUse(2);

    const refused = watched(send(`${api.url}6`));
    await api.arrivals(6);
    api.open[5]?.destroy();
    await expect(refused).rejects.toThrow();
    await inUse(2);

    for (const stage of ['before the response', 'within the body']) {
      const end = new AbortController();
      const aborted = watched(send(`${api.url}${stage.length}`, { signal: end.signal }));
      const place = api.paths.length;
      await api.arrivals(place + 1);
      if (stage === 'within the body') {
        api.open[place]?.write('half');
        const reply = await aborted;
        end.abort();
        await expect(reply.text()).rejects.toThrow();
      } else {
        end.abort();
        await expect(aborted).rejects.toThrow();
      }
      await inUse(2);
    }

    const empty = send(`${api.url}9`, { method: 'HEAD' });
    await api.arrivals(9);
    api.open[8]?.end();
    await empty;
    await inUse(2);
    for (const response of api.open.slice(0, 2)) response.end();
    await (await bystander).text();
    await (await kept).text();
    await inUse(0);
    expect(semaphore.available()).toBe(3);
  });

  test('sends no more at once than there are permits, and the next when one comes back', async () => {
    const api = await Api.start();
    const semaphore = Semaphore.create({ permits: 2 });
    const send = client({ semaphore });
    const texts = [1, 2, 3, 4].map(async (n) => (await send(api.url + n)).text());
    for (let n = 0; n < 4; n++) {
      await api.arrivals(n + 1);
      await settled();
      expect(api.paths.length).toBeLessThanOrEqual(n + 2);
      api.open[n]?.end('ok');
    }
    expect(await Promise.all(texts)).toEqual(['ok', 'ok', 'ok', 'ok']);
    expect(api.paths.slice(2)).toEqual(['/3', '/4']);
    await until(() => semaphore.inUse() === 0);
  });

  test('takes no token without a permit, and keeps no permit without a token', async () => {
    const api = await Api.start((_, response) => response.end());
    const clock = ManualClock.create();
    const semaphore = Semaphore.create({ permits: 1, clock });
    const limiter = TokenBucket.create({ rate: NEVER, burst: 1, clock });
    const send = client({ limiter, semaphore, timeoutMs: 50 });

    const permit = await semaphore.acquire();
    const late = watched(send(api.url));
    await settled();
    expect(limiter.available()).toBe(1);
    clock.advance(50);
    expect(await reasonOf(late)).toMatchObject(TIMEOUT);
    expect(limiter.available()).toBeCloseTo(1, 5);
    permit.release();

    limiter.tryConsume();
    expect(await reasonOf(send(api.url))).toMatchObject(TIMEOUT);
    expect(semaphore.inUse()).toBe(0);
    expect(semaphore.waiting).toBe(0);
    expect(api.paths).toEqual([]);
  });

  test('an abort takes nothing, wherever the request waits, and the others keep their places', async () => {
    const api = await Api.start((_, response) => response.end());
    const clock = ManualClock.create();
    const semaphore = Semaphore.create({ permits: 5, clock });
    const limiter = TokenBucket.create({ rate: 100, burst: 1, initial: 0, clock });
    const send = client({ limiter, semaphore });
    const ends = [1, 2, 3].map(() => new AbortController());
    const reason = new Error('enough');
    const replies = ends.map((end, n) => watched(send(api.url + n, { signal: end.signal })));
    await settled();
    expect(limiter.balance()).toBe(-1); // the head's promised token
    ends[1]?.abort(reason);
    expect(await reasonOf(replies[1] as Promise<unknown>)).toBe(reason);
    expect(limiter.balance()).toBe(-1);
    ends[0]?.abort(reason);
    expect(await reasonOf(replies[0] as Promise<unknown>)).toBe(reason);
    await settled();
    expect(limiter.balance()).toBe(-1); // now the third's
    clock.advance(10);
    await replies[2];
    expect(api.paths).toEqual(['/2']);
    await until(() => semaphore.inUse() === 0);

    const gone = await reasonOf(send(api.url, { signal: AbortSignal.abort(reason) }));
    expect(gone).toBe(reason);
    expect(limiter.balance()).toBe(0);
  });

  test('refuses at once what cannot start in time, and the rest at their deadlines', async () => {
    const api = await Api.start((_, response) => response.end());
    const clock = ManualClock.create();
    const limiter = TokenBucket.create({ rate: 1, burst: 1, clock });
    const send = client({ limiter, timeoutMs: 1500, maxWaiting: 3 });
    await send(api.url);
    const [second, third, fourth] = [1, 2, 3].map((n) => watched(send(api.url + n)));
    await settled();
    expect(await reasonOf(send(api.url))).toMatchObject({ code: 'ERR_QUEUE_FULL' });
    clock.advance(950);
    await settled();
    clock.advance(50);
    await second;
    await settled(); // now the third cannot start before its deadline
    expect(await reasonOf(third as Promise<unknown>)).toMatchObject(TIMEOUT);
    expect(await reasonOf(fourth as Promise<unknown>)).toMatchObject(TIMEOUT);
    expect(clock.nowMs).toBe(1000);
    expect(api.paths).toEqual(['/', '/1']);
    expect(limiter.balance()).toBe(0);
    expect(await reasonOf(client({ limiter, timeoutMs: 0 })(api.url))).toMatchObject(TIMEOUT);
  });

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
    const api = await Api.start((_, response) => response.writeHead(status, headers).end());
    const other = await Api.start((_, response) => response.end());
    const clock = ManualClock.create();
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

  test('without a keyed limiter an answer holds up the requests of this client', async () => {
    const headers = { 'retry-after': '2' };
    const api = await Api.start((_, response) => response.writeHead(429, headers).end());
    const other = await Api.start((_, response) => response.end());
    const clock = ManualClock.create();
    const limiter = TokenBucket.create({ rate: 1000, burst: 10, clock });
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
    const api = await Api.start();
    const other = await Api.start((_, response) => response.end('ok'));
    const clock = ManualClock.create();
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
    'a block while the token is almost due returns the permit, with catchUp: %s',
    async (catchUp) => {
      const api = await Api.start((_, response) => response.end());
      const other = await Api.start((_, response) => response.end());
      const clock = ManualClock.create();
      const semaphore = Semaphore.create({ permits: 1, clock });
      const limiter = KeyedFixedWindow.create({ limit: 1, intervalMs: 40, capacity: 10, clock });
      const send = client({ limiter, semaphore, catchUp });
      const { origin } = new URL(api.url);
      limiter.tryConsume(origin);
      const held = send(api.url);
      await settled();
      expect(semaphore.inUse()).toBe(1);
      limiter.block(origin, 5000);
      for (let ms = 0; ms < 4000; ms += 100) {
        clock.advance(100);
        await settled();
      }
      expect(semaphore.inUse()).toBe(0);
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

  test('a raised limit and a reset key are noticed within a second', async () => {
    const api = await Api.start((_, response) => response.end());
    const clock = ManualClock.create();
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
      const clock = ManualClock.create();
      const limiter = TokenBucket.create({ rate: 1000, burst: 1, initial: 0, clock });
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
    const api = await Api.start((_, response) => response.end());
    const clock = ManualClock.create();
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

test('rateLimitedFetch returns the permit of a response that is dropped unread', async () => {
  const api = await Api.start((_, response) => response.end('x'.repeat(1e7)));
  const semaphore = Semaphore.create({ permits: 1 });
  const { client } = CLIENTS[2] as (typeof CLIENTS)[number]; // there are three
  const send = client({ semaphore });
  await send(api.url);
  await settled(50);
  expect(semaphore.inUse()).toBe(1);
  setFlagsFromString('--expose-gc');
  const collect: () => void = runInNewContext('gc');
  await until(() => {
    collect();
    return semaphore.inUse() === 0;
  });
});
