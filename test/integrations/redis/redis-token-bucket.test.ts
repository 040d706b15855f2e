import { Redis } from 'ioredis';
import { createClient } from 'redis';
import { describe, expect, test } from 'vitest';
import { systemClock, TokenBucket } from '../../../src/index.ts';
import { RedisLimitSet, RedisTokenBucket } from '../../../src/integrations/redis.ts';
import { changedSchedule } from '../../../src/limiters/limit.ts';
import { PACKAGES, remote, serverOfSuite } from './connections.ts';
import {
  expectFreePromises,
  expectNoLateCancels,
  expectNoneBeyondBurst,
  SLOW,
  usersOfKey,
} from './key-users.ts';
import { LACKS_REDIS } from './server.ts';

describe.skipIf(LACKS_REDIS)('a token bucket on a server', () => {
  const server = serverOfSuite();

  describe.each(PACKAGES)('with %s', (name) => {
    const { connection, other, create } = usersOfKey(server, name);

    test('reports how long a wait lasted, counts waiting callers, and refuses more', async () => {
      const bucket = create({ rate: 5, burst: 1 });
      expect((await bucket.wait()).waitedMs).toBeGreaterThanOrEqual(0);
      const waits = [1, 2].map(() => bucket.wait(1, { maxWaiting: 2 }));
      const refused = bucket.wait(1, { maxWaiting: 2 });
      // At once: their instants come meanwhile on a busy machine.
      expect([bucket.waiting, bucket.stats().waiting]).toEqual([2, 2]);
      await expect(refused).rejects.toMatchObject({ code: 'ERR_QUEUE_FULL' });
      const [first, second] = await Promise.all(waits);
      expect(second?.waitedMs).toBeGreaterThan(first?.waitedMs ?? 0);
      expect(bucket.waiting).toBe(0);
      const full = create({ key: 'full' });
      // Tokens that are available need no place in the queue.
      expect((await full.wait(1, { maxWaiting: 0 })).waitedMs).toBeGreaterThanOrEqual(0);
    });

    test('is one limit for all users of its key', async () => {
      const [here, there] = [create(), create({}, other)];
      const calls = Array.from({ length: 20 }, (_, i) => (i % 2 ? here : there).tryConsume());
      expect((await Promise.all(calls)).filter(Boolean)).toHaveLength(10);
      expect(await here.tryConsume()).toBe(false);
      expect(await create({ key: 'b' }).tryConsume()).toBe(true);
      const [ours, theirs] = [here.stats(), there.stats()];
      expect([ours.calls, theirs.calls]).toEqual([11, 10]);
      expect(ours.admitted + theirs.admitted).toBe(10);
      expect(ours.refused + theirs.refused).toBe(11);
    });

    test('counts every call for more than the burst as refused', async () => {
      const bucket = create();
      for (const call of [bucket.acquire(11), bucket.reserve(11), bucket.wait(11)]) {
        await expect(call).rejects.toMatchObject({ code: 'ERR_EXCEEDS_BURST' });
      }
      expect(await bucket.tryConsume(11)).toBe(false);
      expect(bucket.stats()).toMatchObject({ calls: 4, admitted: 0, refused: 4 });
    });

    test('refuses any number of tokens that is beyond the burst', async () => {
      await expectNoneBeyondBurst(create());
    });

    test('cancels the latest reservation only', async () => {
      const bucket = create({ rate: 1 });
      const first = await bucket.reserve(10);
      const second = await bucket.reserve(5);
      expect(first?.waitMs).toBe(0);
      expect(second?.waitMs).toBeGreaterThan(4000);
      expect(await first?.cancel()).toBe(false);
      expect(await second?.cancel()).toBe(true);
      expect(await second?.cancel()).toBe(false);
      expect(await bucket.balance()).toBeGreaterThanOrEqual(0);
      const third = await bucket.reserve(5);
      await bucket.reconfigure({ rate: 2 });
      expect(await third?.cancel()).toBe(false);
    });

    test('cancels nothing after its instant', async () => {
      await expectNoLateCancels(create());
      const bucket = create({ rate: 20, burst: 5, key: 'late' });
      await bucket.consumeOrDrain(5);
      const late = await bucket.reserve(1);
      expect(late?.waitMs).toBeGreaterThan(0);
      await systemClock.sleep((late?.atUs ?? 0) + 1);
      expect(await late?.cancel()).toBe(false);
    });

    test('cancels a promise of nothing until tokens are taken', async () => {
      const limit = { rate: SLOW, burst: 10 };
      const asked = remote(connection, limit, () => 1e12, 'free');
      await expectFreePromises(asked, () => connection.send('DEL', 'free'));
    });

    test("makes callers wait in turn, by the server's clock", async () => {
      const bucket = create({ rate: 50, burst: 1 });
      const begun = performance.now();
      await Promise.all(Array.from({ length: 6 }, () => bucket.wait()));
      expect(performance.now() - begun).toBeGreaterThanOrEqual(99);
    });

    test('ends a wait by its signal, and returns its tokens', async () => {
      const bucket = create({ rate: 1 });
      await bucket.wait(10);
      const end = new AbortController();
      const waiting = bucket.wait(5, { signal: end.signal });
      while ((await bucket.balance()) > -1); // until the server has received it
      end.abort(new Error('enough'));
      await expect(waiting).rejects.toThrow('enough');
      while ((await bucket.balance()) < 0); // until it is cancelled
      await expect(bucket.wait(1, { signal: end.signal })).rejects.toThrow('enough');
    });

    test('returns the tokens of an answer after the abort', async () => {
      const bucket = create();
      await bucket.tryConsume();
      const end = new AbortController();
      const waiting = bucket.wait(5, { signal: end.signal });
      end.abort(new Error('enough'));
      await expect(waiting).rejects.toThrow('enough');
      while ((await bucket.balance()) < 9);
    });

    test.each([5, 11])(
      'returns nothing if a wait for %d is aborted that was refused',
      async (n) => {
        const bucket = create();
        await bucket.wait(10);
        const end = new AbortController();
        const waiting = bucket.wait(n, { timeoutMs: 100, signal: end.signal });
        end.abort(new Error('enough'));
        await expect(waiting).rejects.toThrow('enough');
        for (let call = 0; call < 3; call++) expect(await bucket.balance()).toBeLessThan(1);
      },
    );

    test('has the limit that any user sets', async () => {
      const [here, there] = [create(), create({}, other)];
      await here.tryConsume(4);
      await here.reconfigure({ burst: 5 });
      expect(await there.tryConsume(6)).toBe(false);
      expect([there.burst, there.limit, there.rate]).toEqual([5, 5, SLOW]);
      expect(await there.consumeOrDrain(10)).toBe(5);
      await there.reconfigure({ quantum: 3, fillIntervalMs: 3_600_000, burst: 7 });
      const untilMs = await here.timeUntil(4);
      expect(untilMs).toBeGreaterThan(3_600_000);
      expect(untilMs).toBeLessThanOrEqual(7_200_000);
      expect(here.burst).toBe(7);
      await expect(here.reconfigure({ burst: 0 })).rejects.toThrow(RangeError);
      // A bucket that has not heard of the fills yet.
      const late = create();
      await late.reconfigure({ quantum: 4 });
      expect([late.burst, await here.consumeOrDrain(10), here.burst]).toEqual([7, 0, 7]);
    });

    test('stores a changed limit permanently, but not the original one', async () => {
      const bucket = create({ rate: 1 });
      await bucket.tryConsume();
      const ttl = Number(await connection.send('PTTL', 'a'));
      expect(ttl).toBeGreaterThan(900);
      expect(ttl).toBeLessThanOrEqual(1001);
      await bucket.reconfigure({ rate: 2 });
      expect(await connection.send('PTTL', 'a')).toBe(-1);
      await bucket.tryConsume();
      expect(await connection.send('PTTL', 'a')).toBe(-1);
      await bucket.reconfigure({ rate: 1 });
      expect(await connection.send('PTTL', 'a')).toBeGreaterThan(0);
    });

    test('has no key while it is full', async () => {
      const bucket = create({ rate: 1000 });
      // It is full again after 10 ms, which may be over before the answer comes.
      do await bucket.tryConsume(10);
      while ((await connection.send('EXISTS', 'a')) === 0);
      while ((await connection.send('EXISTS', 'a')) === 1);
      expect(await bucket.balance()).toBe(10);
      await bucket.returnTokens(1);
      expect(await connection.send('EXISTS', 'a')).toBe(0);
    });

    test('can be unlimited, and become limited', async () => {
      const bucket = create({ rate: Number.POSITIVE_INFINITY, burst: Number.POSITIVE_INFINITY });
      expect(await bucket.tryConsume(1e300)).toBe(true);
      expect(await bucket.consumeOrDrain(1e9)).toBe(1e9);
      expect(await bucket.balance()).toBe(Number.POSITIVE_INFINITY);
      await bucket.reconfigure({ rate: SLOW, burst: 3 });
      expect(await bucket.consumeOrDrain(1e9)).toBe(3);
      await bucket.reconfigure({ rate: Number.POSITIVE_INFINITY });
      expect(await bucket.tryConsume(2)).toBe(true);
    });

    test('counts every token although a double cannot count the ticks', async () => {
      // Three ticks per token, in a range where doubles are four ticks apart.
      const burst = Number.MAX_SAFE_INTEGER;
      const timeUs = 1_705_509_033_000_000;
      const bucket = remote(connection, { rate: 4096e6 / 3, burst }, () => timeUs);
      expect((await bucket.acquire(1, 0)).waitUs).toBe(0);
      expect((await bucket.acquire(burst, 0)).waitUs).toBeLessThan(0);
      expect(await bucket.drain(burst)).toBe(burst - 1);
      expect(await bucket.drain(1)).toBe(0);
      await bucket.returnTokens(1);
      await bucket.reconfigure(([limit]) => [changedSchedule(limit, { rate: 4096e6 / 5 })]);
      expect(await bucket.drain(2)).toBe(1);
      await bucket.returnTokens(burst);
      expect((await bucket.acquire(burst, 0)).waitUs).toBe(0);
      expect(await bucket.balance()).toBe(0);
    });
  });

  test.each([2, 3] as const)('answers the same in version %d of the protocol', async (version) => {
    const redis = createClient({ url: server.url, RESP: version });
    const ioredis = new Redis(server.url, { protocol: version });
    await redis.connect();
    for (const [name, client] of Object.entries({ redis, ioredis })) {
      const key = `protocol ${version} ${name}`;
      const bucket = RedisTokenBucket.create({ client, key, rate: SLOW, burst: 10 });
      expect(await bucket.tryConsume(3)).toBe(true);
      expect(await bucket.decide(8)).toMatchObject({ allowed: false, remaining: 7 });
      expect(await bucket.consumeOrDrain(5)).toBe(5);
      expect(await (await bucket.reserve(5))?.cancel()).toBe(true); // they are not there yet
      const limits = [
        { rate: SLOW, burst: 4 },
        { rate: 4e9, burst: 2 ** 55 },
      ];
      const several = RedisLimitSet.create({ client, key: `${key} several`, limits });
      expect(await several.tryConsume(3)).toBe(true);
      const { limits: states = [] } = await several.decide(2);
      expect(states.map(({ limit }) => limit)).toEqual([4, 2 ** 55]);
      expect(states[0]?.remaining).toBe(1);
      await bucket.reconfigure({ burst: 7 });
      expect(bucket.burst).toBe(7);
    }
    redis.destroy();
    ioredis.disconnect();
  });

  test('names the invalid option', () => {
    const client = { evalSha: () => undefined, on: () => undefined } as never;
    const good = { client, key: 'a', rate: 1, burst: 1 };
    const local = TokenBucket.create({ rate: 1, burst: 1 });
    const create = (bad: object) => () => RedisTokenBucket.create({ ...good, ...bad } as never);
    expect(create({ client: {} })).toThrow(
      /client must be a redis or ioredis client, got an object/,
    );
    expect(create({ client: null })).toThrow(/client must be/);
    expect(create({ key: 7 })).toThrow(/key must be a string, got 7/);
    expect(create({ key: '' })).toThrow(/key must have 1 to 1024 characters, got 0/);
    expect(create({ rate: -1 })).toThrow(/rate must be/);
    expect(create({ timeoutMs: 0 })).toThrow(/timeoutMs must be a number at least 1/);
    expect(create({ whenUnreachable: 'no' })).toThrow(/whenUnreachable must be one of refuse/);
    expect(create({ whenUnreachable: 'local' })).toThrow(/processes must be an integer/);
    expect(create({ processes: 0.5 })).toThrow(/processes must be an integer/);
    expect(create({ localBucket: {} })).toThrow(/localBucket must be a TokenBucket, got an object/);
    expect(create({ onUnreachable: 1 })).toThrow(/onUnreachable must be a function, got 1/);
    expect(create({ whenUnreachable: 'local', localBucket: local })).not.toThrow();
    expect(() => RedisTokenBucket.create(null as never)).toThrow(/options must be an object/);
  });

  test('rejects an invalid number of tokens', async () => {
    const client = { evalSha: () => undefined, on: () => undefined } as never;
    const bucket = RedisTokenBucket.create({ client, key: 'a', rate: 1, burst: 1 });
    await expect(bucket.tryConsume(-1)).rejects.toThrow(/n must be a number at least 0, got -1/);
    await expect(bucket.consumeOrDrain(Number.NaN)).rejects.toThrow(RangeError);
    await expect(bucket.decide('1' as never)).rejects.toThrow(TypeError);
    await expect(bucket.acquire(1, -1)).rejects.toThrow(/maxWaitMs must be/);
    await expect(bucket.reserve(1, 5 as never)).rejects.toThrow(/options must be an object/);
    const unknown = bucket.reserve(1, { maxWait: 5 } as never);
    await expect(unknown).rejects.toThrow(/no option "maxWait"; did you mean maxWaitMs\?$/);
    await expect(bucket.wait(1, { timeoutMs: -1 })).rejects.toThrow(/timeoutMs must be/);
    await expect(bucket.returnTokens(-1)).rejects.toThrow(/n must be/);
    await expect(bucket.timeUntil(-1)).rejects.toThrow(/tokens must be/);
    await expect(bucket.reconfigure(1 as never)).rejects.toThrow(/limit must be an object/);
  });
});
