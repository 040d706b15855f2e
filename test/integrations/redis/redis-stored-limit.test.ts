import { describe, expect, test } from 'vitest';
import { changedSchedule } from '../../../src/limiters/limit.ts';
import { PACKAGES, remote } from './connections.ts';
import { SLOW, usersOfKey } from './key-users.ts';
import { LACKS_REDIS } from './server.ts';
import { serverOfSuite } from './suite-server.ts';

describe.skipIf(LACKS_REDIS)('a token bucket on a server', () => {
  const server = serverOfSuite();

  describe.each(PACKAGES)('with %s', (name) => {
    const { connection, other, create } = usersOfKey(server, name);

    test('has the limit that any user sets', async () => {
      const [here, there] = [create(), create({}, other)];
      await here.tryConsume(4);
      await here.reconfigure({ burst: 5 });
      expect(await there.tryConsume(6)).toBe(false);
      expect([there.burst, there.limit, there.rate]).toEqual([5, 5, SLOW]);
      expect(await there.consumeOrDrain(10)).toBe(5);
      await there.reconfigure({ quantum: 3, fillIntervalMs: 3_600_000, burst: 7 });
      expect(await here.timeUntil(4)).toBeGreaterThan(3_600_000);
      expect(here.burst).toBe(7);
      await expect(here.reconfigure({ burst: 0 })).rejects.toThrow(RangeError);
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

    test('returns to the limit of its options when its key is deleted', async () => {
      const bucket = create();
      await bucket.reconfigure({ burst: 5 });
      await connection.send('DEL', 'a');
      expect(await bucket.consumeOrDrain(100)).toBe(10);
      expect(bucket.burst).toBe(10);
    });

    test('uses the stored limit, whatever the options of later users', async () => {
      await create().tryConsume();
      const later = create({ burst: 100 }, other);
      expect(await later.consumeOrDrain(100)).toBe(9);
      expect(later.burst).toBe(10);
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

    test('rejects a key that holds something else, and leaves it unchanged', async () => {
      const invalid = { code: 'ERR_KEY_INVALID' };
      await connection.send('SET', 'a', 'mine');
      await expect(create().tryConsume()).rejects.toMatchObject(invalid);
      expect(await connection.send('GET', 'a')).toBe('mine');
      await connection.send('DEL', 'a');
      await connection.send('RPUSH', 'a', 'mine');
      await expect(create().wait()).rejects.toMatchObject(invalid);
      await connection.send('SET', 'a', 'zerotime1 0 0 0 0 0 0 0 not a limit');
      await expect(create().tryConsume()).rejects.toMatchObject(invalid);
      expect(await create({ key: 'b' }).tryConsume()).toBe(true);
    });
  });
});
