import { beforeEach, describe, expect, test } from 'vitest';

import { ManualClock, REFUSED } from '../../../src/index.ts';
import type { RemoteBucket } from '../../../src/integrations/redis/remote-bucket.ts';
import {
  type RedisClient,
  RedisKeyedTokenBucket,
  RedisTokenBucket,
  type RedisTokenBucketOptions,
} from '../../../src/integrations/redis.ts';
import { part, Random, SEED } from '../../support/random.ts';
import { connectionOfTest, PACKAGES, remote, serverOfSuite } from './connections.ts';
import { LACKS_REDIS } from './server.ts';

const BATCHES = part(400, 80);
const START_MS = 1_705_509_033_000;
/** So slow that no token arrives during a test. */
const SLOW = 1e-3;

/** The client, and the operations that its commands name. */
function watched(client: RedisClient): { client: RedisClient; sent: string[] } {
  const sent: string[] = [];
  const proxy = new Proxy(client, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name, target);
      if (typeof member !== 'function') return member;
      return (...args: unknown[]) => {
        if (name === 'evalSha') sent.push((args[1] as { arguments: string[] }).arguments[0] ?? '');
        if (name === 'evalsha') sent.push(String(args[3]));
        return member.apply(target, args);
      };
    },
  });
  return { client: proxy, sent };
}

describe.skipIf(LACKS_REDIS).each(PACKAGES)('calls of one turn, with %s,', (name) => {
  const connection = connectionOfTest(serverOfSuite(), name);
  let client: RedisClient;
  let sent: string[];
  beforeEach(() => {
    ({ client, sent } = watched(connection.client));
  });

  const create = (options: Partial<RedisTokenBucketOptions> = {}) =>
    RedisTokenBucket.create({ client, key: 'a', rate: SLOW, burst: 10, ...options });

  test('become one command, which admits the first ones', async () => {
    const bucket = create();
    await bucket.tryConsume(0); // learns the server's clock
    sent.length = 0;
    const calls = Array.from({ length: 64 }, () => bucket.tryConsume());
    expect(await Promise.all(calls)).toEqual(calls.map((_, i) => i < 10));
    expect(sent).toEqual(['own try']);
    expect(bucket.stats()).toMatchObject({ calls: 65, admitted: 10, refused: 54, commands: 3 });
  });

  test('of several objects for one key become one command, also of a keyed bucket', async () => {
    const perUser = RedisKeyedTokenBucket.create({ client, prefix: 'u', rate: SLOW, burst: 3 });
    await perUser.tryConsume('b', 0);
    sent.length = 0;
    const calls = ['a', 'b', 'a', 'b', 'a', 'a', 'b'].map((user) => perUser.tryConsume(user));
    expect(await Promise.all(calls)).toEqual([true, true, true, true, true, false, true]);
    expect(sent).toHaveLength(2);
  });

  test('are admitted one by one where their numbers differ', async () => {
    const bucket = create();
    const numbers = [4, 4, 4, 1, 11, 0, 2, 1];
    const calls = numbers.map((n) => bucket.tryConsume(n));
    const expected = [true, true, false, true, false, true, false, true];
    expect(await Promise.all(calls)).toEqual(expected);
    expect(await bucket.available()).toBeLessThan(0.1);
  });

  test('each have their own answer, wait and error', async () => {
    const bucket = create({ rate: 100, burst: 2 });
    const [a, b, c, d, e, f, g] = await Promise.all([
      bucket.acquire(2),
      bucket.acquire(1),
      bucket.decide(1),
      bucket.reserve(2, { maxWaitMs: 1 }),
      bucket.wait(3).catch((error) => error.code),
      bucket.acquire(2),
      bucket.acquire(2, 1),
    ]);
    expect(a).toBe(0);
    expect(b).toBeCloseTo(10, 6);
    expect(c.allowed).toBe(false);
    expect(c.retryAfterMs).toBeCloseTo(20, 6);
    expect(d).toBeUndefined();
    expect(e).toBe('ERR_EXCEEDS_BURST');
    expect(f).toBeCloseTo(30, 6);
    expect(g).toBe(REFUSED);
  });

  test('are not harmed by one that is aborted', async () => {
    const bucket = create({ rate: 1000, burst: 1 });
    await bucket.tryConsume();
    const end = new AbortController();
    const waits = Array.from({ length: 5 }, (_, i) =>
      bucket.wait(1, i === 2 ? { signal: end.signal } : {}),
    );
    end.abort(new Error('enough'));
    const settled = await Promise.allSettled(waits);
    expect(settled.map(({ status }) => status === 'fulfilled')).toEqual(
      waits.map((_, i) => i !== 2),
    );
  });

  test('with other time limits are commands of their own, and keep their order', async () => {
    const [patient, hasty] = [create(), create({ timeoutMs: 900 })];
    await Promise.all([patient.tryConsume(0), create({ key: 'b' }).tryConsume()]);
    sent.length = 0;
    const calls = [patient.tryConsume(6), hasty.tryConsume(6), patient.consumeOrDrain(10)];
    expect(await Promise.all(calls)).toEqual([true, false, 4]);
    expect(sent).toEqual(['own try', 'own try', 'own drain']);
  });

  test('fail together when the key holds something else', async () => {
    await connection.send('SET', 'a', 'mine');
    const bucket = create();
    const settled = await Promise.allSettled([bucket.tryConsume(), bucket.wait(), bucket.decide()]);
    for (const each of settled) {
      expect(each).toMatchObject({ status: 'rejected', reason: { code: 'ERR_KEY_INVALID' } });
    }
  });

  test('learn together of a limit that another process has set', async () => {
    const [here, there] = [create(), create()];
    await Promise.all([here.tryConsume(0), there.tryConsume(0)]);
    await create().reconfigure({ burst: 5 });
    const calls = [here, there, here].map((bucket) => bucket.tryConsume(2));
    expect(await Promise.all(calls)).toEqual([true, true, false]);
    expect([here.burst, there.burst]).toEqual([5, 5]);
  });

  test('more than a thousand are several commands', async () => {
    const bucket = create({ burst: 2000 });
    await bucket.tryConsume(0);
    sent.length = 0;
    const calls = Array.from({ length: 2500 }, () => bucket.tryConsume());
    expect((await Promise.all(calls)).filter(Boolean)).toHaveLength(2000);
    expect(sent).toHaveLength(3);
  });

  // docs/redis.md: "It serves them in order, as if each"
  // docs/redis.md: "Divisions, in consumeOrDrain, reconfigure and by a fill"
  test(`answer as if each were a command of its own (ZEROTIME_SEED=${SEED})`, async () => {
    const random = new Random(SEED);
    const clock = ManualClock.create({ nowMs: START_MS });
    const limits = [
      { rate: 1000, burst: 12 },
      { rate: 4000, burst: 2.25 },
      { quantum: 4, fillIntervalMs: 10, burst: 16 },
      // Its burst is beyond the short path.
      { rate: 1000, burst: 1e9 },
      {
        limits: [
          { rate: 1000, burst: 12 },
          { rate: 4000, burst: 9 },
          { rate: 500, burst: 20 },
        ],
      },
    ];
    for (const [index, limit] of limits.entries()) {
      const bucketAt = (key: string) => remote(connection, limit, () => clock.now(), key);
      const [alone, together] = [bucketAt(`alone ${index}`), bucketAt(`together ${index}`)];
      for (const bucket of [alone, together]) {
        // Both count their fills from the same instant.
        await bucket.reconfigure((schedules) => schedules);
        if (limit.burst === 1e9) await bucket.drain(1e9);
      }
      for (let batch = 0; batch < BATCHES / limits.length; batch++) {
        clock.advance(random.below(400) / 8);
        const calls = Array.from({ length: 1 + random.below(8) }, () => {
          const n = random.below(5) === 0 ? 100 : random.below(12) / 4;
          const maxWaitUs = 1000 * random.pick([0, 0, 1, 50, Number.POSITIVE_INFINITY]);
          return random.pick<(bucket: RemoteBucket) => Promise<unknown>>([
            (bucket: RemoteBucket) => bucket.decide(n),
            (bucket: RemoteBucket) => bucket.tryTake(n),
            (bucket: RemoteBucket) => bucket.acquire(n, maxWaitUs).then(({ waitUs }) => waitUs),
          ]);
        });
        const answers: unknown[] = [];
        for (const call of calls) answers.push(await call(alone));
        expect(await Promise.all(calls.map((call) => call(together)))).toEqual(answers);
        expect(await together.balance()).toBe(await alone.balance());
      }
    }
  });
});
