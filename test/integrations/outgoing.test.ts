import { describe, expect, test } from 'vitest';
import {
  FixedWindow,
  KeyedFixedWindow,
  KeyedTokenBucket,
  ManualClock,
  SlidingLog,
  TokenBucket,
} from '../../src/index.ts';
import { Api, CLIENTS, reasonOf } from '../support/api.ts';
import { settled } from '../support/settled.ts';
import { watched } from '../support/watched.ts';

const TIMEOUT = { code: 'ERR_RATE_LIMIT_TIMEOUT' };

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

  test('refuses at once requests that cannot start in time, and the rest at their deadlines', async () => {
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
});
