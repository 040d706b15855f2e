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
import { Api, CLIENTS, reasonOf } from '../support/api.ts';
import { bucketOf } from '../support/manual-bucket.ts';
import { settled, until } from '../support/settled.ts';
import { watched } from '../support/watched.ts';

const TIMEOUT = { code: 'ERR_RATE_LIMIT_TIMEOUT' };

describe.each(CLIENTS)('$name', ({ client }) => {
  test('sends the burst at once, and others when their tokens are due, in order', async () => {
    const { api, clock } = await Api.clocked((_, response) => response.end('ok'));
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
    const { api, clock } = await Api.clocked((_, response) => response.end());
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
    const { api, clock } = await Api.clocked((_, response) => response.end());
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

  test('refuses at once requests that cannot start in time, and the rest at their deadlines', async () => {
    const api = await Api.start((_, response) => response.end());
    const { clock, limiter } = bucketOf(1, 1);
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
});

/** Too slow for a token to come. */
const NEVER = 1e-6;

describe.each(CLIENTS)('$name', ({ client }) => {
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

  // docs/outgoing.md: "This program sends six requests, at most two at a time"
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
    const { clock, limiter } = bucketOf(NEVER, 1);
    const semaphore = Semaphore.create({ permits: 1, clock });
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

  test('holds no permit while it waits for tokens, near, far or paused', async () => {
    const { api, clock } = await Api.clocked((_, response) => response.end());
    const semaphore = Semaphore.create({ permits: 1, clock });
    const limiter = TokenBucket.create({ rate: 5, burst: 1, initial: 0, clock });
    const send = client({ limiter, semaphore });
    const replies = [1, 2, 3].map((n) => watched(send(api.url + n)));
    for (let sent = 1; sent <= 3; sent++) {
      for (let ms = 0; ms < 200; ms++) {
        await settled();
        expect(semaphore.inUse()).toBe(0);
        if (sent === 3 && ms === 100) limiter.reconfigure({ rate: 0 });
        clock.advance(1);
      }
      if (sent === 3) limiter.reconfigure({ rate: 1e6 });
      await settled();
      clock.advance(sent === 3 ? 1000 : 0); // it looks once a second
      await replies[sent - 1];
      await until(() => semaphore.inUse() === 0);
      expect(api.paths).toHaveLength(sent);
    }
  });

  test('starts in turn though others always want permits and tokens', async () => {
    const { api, clock } = await Api.clocked((_, response) => response.end());
    const semaphore = Semaphore.create({ permits: 1, clock });
    const limiter = TokenBucket.create({ rate: 100, burst: 1, initial: 0, clock });
    const end = new AbortController();
    const busy = async (): Promise<void> => {
      await semaphore.run(() => clock.sleep(clock.now() + 10_000, { signal: end.signal }));
      return busy();
    };
    const hungry = async (): Promise<void> => {
      await limiter.wait(1, { signal: end.signal });
      return hungry();
    };
    const others = [busy(), busy(), hungry(), hungry(), hungry()].map((one) => one.catch(() => 0));
    const send = client({ limiter, semaphore });
    const replies = [1, 2, 3].map((n) => watched(send(api.url + n)));
    for (let ms = 0; ms < 300; ms++) {
      await settled();
      clock.advance(1);
    }
    await Promise.all(replies);
    end.abort();
    await Promise.all(others);
  });

  test('an abort takes nothing, wherever the request waits, and the others keep their places', async () => {
    const { api, clock } = await Api.clocked((_, response) => response.end());
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
});

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
