import { describe, expect, test } from 'vitest';
import {
  FleetBucket,
  type FleetBucketOptions,
  RedisTokenBucket,
} from '../../../src/integrations/redis.ts';
import { until } from '../../support/settled.ts';
import { Fleet, fleetOf, INTERVAL_MS, settle } from './fleet-source.ts';

describe('a fleet bucket', () => {
  test('starts with its minimum stock, and spends it without a command', async () => {
    const { fleet, process } = await fleetOf({ stock: 100, minStock: 7 });
    expect(fleet.source.asked).toEqual([7]);
    for (let i = 0; i < 7; i++) expect(process.tryConsume()).toBe(true);
    expect(process.tryConsume()).toBe(false);
    expect(fleet.source.asked).toEqual([7]);
  });

  test('buys for five intervals each time it runs short, up to its stock', async () => {
    const { fleet, process } = await fleetOf({ stock: 100 }, { rate: 1e6, burst: 1e6 });
    for (const bought of [1, 5, 25, 100, 100]) {
      expect(fleet.source.asked.at(-1)).toBe(bought);
      expect(process.available()).toBe(bought);
      expect(process.consumeOrDrain(1e6)).toBe(bought);
      await fleet.pass(INTERVAL_MS);
    }
  });

  test('refills before it runs dry once it knows the demand', async () => {
    const { fleet, process } = await fleetOf({ stock: 10_000 }, { rate: 1e6, burst: 1e6 });
    let refused = 0;
    for (let ms = 0; ms < 2000; ms++) {
      for (let i = 0; i < 10; i++) if (!process.tryConsume() && ms >= 200) refused++;
      await fleet.pass(1);
    }
    expect(refused).toBe(0);
    const { purchases, bought } = process.stats();
    // 10 per millisecond: for five intervals, less the two intervals' worth that is left.
    expect(bought).toBeGreaterThanOrEqual(19_000);
    expect(purchases).toBeLessThan(50);
  });

  // docs/fleets.md: "If one process has all of the demand for a while, d = 100,000"
  test.each([
    [100, 4000, 4000],
    [100 / 3, 1100, 1100],
    [100 / 3, 4000, 3400],
  ])(
    'of %d tokens a millisecond needs no more than a stock of %d, and uses %d',
    async (perMs, stock, used) => {
      const fleet = new Fleet({ rate: 1e6, burst: 1e6 });
      const { bucket } = fleet.source;
      const source = {
        consumeOrDrain: async (n: number) => {
          const taken = bucket.consumeOrDrain(n);
          await fleet.clock.sleep(fleet.clock.now() + 1000);
          return taken;
        },
        returnTokens: async (n: number) => bucket.returnTokens(n),
      };
      // As far from command to command as can be.
      const joining = fleet.join({ source, stock, random: () => 0.999 });
      await settle();
      await fleet.pass(1);
      const process = await joining;
      let [refused, most] = [0, 0];
      for (let ms = 0; ms < 3000; ms++) {
        const wanted = Math.floor((ms + 1) * perMs) - Math.floor(ms * perMs);
        const got = process.consumeOrDrain(wanted);
        if (ms >= 1000) refused += wanted - got;
        if (ms >= 1000) most = Math.max(most, process.available());
        await fleet.pass(1);
      }
      expect(refused).toBe(0);
      expect(most).toBeLessThanOrEqual(used);
      await process.close();
    },
  );

  test('sends at most one command per interval, however often it runs dry', async () => {
    const { fleet, process } = await fleetOf({ stock: 1000 }, { rate: 1000, burst: 10 });
    let spent = 0;
    for (let ms = 0; ms < 1000; ms++) {
      for (let i = 0; i < 5; i++) if (process.tryConsume()) spent++;
      await fleet.pass(1);
    }
    expect(fleet.source.asked.length).toBeLessThanOrEqual(1000 / INTERVAL_MS + 1);
    // The source holds at most 10, and the fleet bucket empties it every 20 ms.
    expect(spent).toBeGreaterThanOrEqual(10 * (1000 / INTERVAL_MS - 4));
  });

  test('returns tokens that stay unused for too long, except for its minimum stock', async () => {
    const fleet = new Fleet({ rate: 1, burst: 1000 });
    const process = await fleet.join({ stock: 500, minStock: 100, maxAgeMs: 300 });
    expect(process.consumeOrDrain(200)).toBe(100);
    await fleet.pass(INTERVAL_MS);
    expect(process.available()).toBe(500);
    await fleet.pass(299);
    expect(fleet.source.returned).toEqual([]);
    await fleet.pass(1);
    expect(fleet.source.returned).toEqual([400]);
    expect(process.available()).toBe(100);
    await fleet.pass(10_000);
    expect(fleet.source.returned).toEqual([400]);
    expect(fleet.source.asked).toEqual([100, 500]);
    await process.close();
    expect(fleet.source.bucket.available()).toBe(910.32);
  });

  test('counts the fractions that a source sells', async () => {
    const returned: number[] = [];
    const source = {
      consumeOrDrain: async () => 2.5,
      returnTokens: async (n: number) => void returned.push(n),
    };
    const fleet = new Fleet({ rate: 1, burst: 1 });
    const process = await FleetBucket.create({ source, stock: 10, clock: fleet.clock });
    expect(process.stats().bought).toBe(2.5);
    expect(process.available()).toBe(2.5);
    expect(process.tryConsume(1.5)).toBe(true);
    await process.close();
    expect(returned).toEqual([1]);
    expect(process.stats().returned).toBe(1);
  });

  test('sleeps without demand, and wakes at the first call', async () => {
    const { fleet, process } = await fleetOf({ stock: 100, minStock: 10 });
    for (let i = 0; i < 100; i++) await fleet.pass(INTERVAL_MS);
    expect(fleet.source.asked).toEqual([10]);
    expect(process.tryConsume()).toBe(true);
    await until(() => fleet.source.asked.length === 2, 'a purchase');
    expect(process.available()).toBe(10);
  });

  test('returns all unspent tokens when closed, and then grants none', async () => {
    const { source, process } = await fleetOf({ stock: 100, minStock: 60 });
    expect(process.tryConsume(10)).toBe(true);
    await process.close();
    await process.close();
    expect(source.bucket.available()).toBe(990);
    expect(process.tryConsume()).toBe(false);
    expect(process.consumeOrDrain(5)).toBe(0);
    expect(process.available()).toBe(0);
    await expect(process.wait()).rejects.toMatchObject({ code: 'ERR_FLEET_CLOSED' });
    expect(process.stats()).toEqual({
      purchases: 1,
      bought: 60,
      returned: 50,
      failures: 0,
      isReachable: true,
      waiting: 0,
      threads: undefined,
    });
  });

  test('returns a purchase that arrives after it was closed', async () => {
    const { fleet, source, process } = await fleetOf({ stock: 100 });
    source.isHeld = true;
    expect(process.consumeOrDrain(5)).toBe(1);
    await fleet.pass(INTERVAL_MS);
    expect(source.bucket.available()).toBe(1000 - 5);
    const closed = process.close();
    source.answer();
    await closed;
    expect(source.bucket.available()).toBe(1000);
  });

  test('accepts tokens returned by its threads, and returns them to the source in time', async () => {
    const fleet = new Fleet({ rate: 1, burst: 1000, initial: 50 });
    const process = await fleet.join({ stock: 100, minStock: 50 });
    expect(process.tryConsume(50)).toBe(true);
    await settle();
    process.returnTokens(30);
    expect(process.available()).toBe(30);
    expect(process.tryConsume(30)).toBe(true);
    process.returnTokens(1000);
    expect(process.available()).toBe(100);
  });

  test('drops tokens returned beyond its stock, however many, and goes on', async () => {
    const { fleet, process } = await fleetOf({ stock: 100 });
    for (const n of [1e15, 1e300, Number.MAX_VALUE]) process.returnTokens(n);
    expect(process.consumeOrDrain(1000)).toBe(100);
    const wait = process.wait(0.25);
    process.returnTokens(1e18);
    await wait;
    expect(process.available()).toBe(100);
    await fleet.pass(INTERVAL_MS);
  });

  test('returns the tokens of a purchase that exceed the stock', async () => {
    const fleet = new Fleet({ rate: 1, burst: 1000 });
    const { source } = fleet;
    const process = await fleet.join({ stock: 100, minStock: 100 });
    source.isHeld = true;
    expect(process.tryConsume(40)).toBe(true);
    await until(() => source.asked.length === 1 && process.stats().purchases === 1, 'the first');
    await fleet.pass(INTERVAL_MS);
    expect(source.asked).toEqual([100, 40]);
    process.returnTokens(25);
    source.answer();
    await until(() => source.returned.length === 1, 'a return');
    expect(source.returned).toEqual([25]);
    expect(process.available()).toBe(100);
    source.isHeld = false;
  });

  test('names each invalid option', async () => {
    const fleet = new Fleet({ rate: 1, burst: 1 });
    const wrong: readonly [Partial<FleetBucketOptions> & object, RegExp][] = [
      [{ stock: 0 }, /^stock must be an integer at least 1 and at most 1000000000, got 0$/],
      [{ stock: 1.5 }, /^stock must be an integer/],
      [{ minStock: 0 }, /^minStock must be/],
      [{ minStock: 11 }, /^minStock must be an integer at least 1 and at most 10, got 11$/],
      [{ intervalMs: 0.5 }, /^intervalMs must be/],
      [{ maxAgeMs: 199 }, /^maxAgeMs must be a number at least 200, or Infinity, got 199$/],
      [{ whenUnreachable: 'wait' as 'refuse' }, /^whenUnreachable must be "refuse" or "local"/],
      [{ whenUnreachable: 'local', rate: 0, processes: 3 }, /^rate must be/],
      [{ whenUnreachable: 'local', rate: 9, processes: 0.5 }, /^processes must be an integer/],
      [{ source: {} as FleetBucketOptions['source'] }, /^source must be a TokenSource, got an/],
      [{ clock: {} as typeof fleet.clock }, /^clock must be a Clock/],
    ];
    for (const [options, message] of wrong) {
      await expect(fleet.join({ stock: 10, ...options })).rejects.toThrow(message);
    }
    expect(fleet.source.asked).toEqual([]);
  });

  test('rejects a source that answers in place of an unreachable server', async () => {
    const fleet = new Fleet({ rate: 1, burst: 1 });
    const evalSha = async () => {
      throw new Error('unreachable');
    };
    const client = { evalSha, eval: evalSha, on: () => undefined };
    const options = { client, key: 'fleet', rate: 1, burst: 1 };
    await expect(
      fleet.join({ stock: 1, source: RedisTokenBucket.create(options) }),
    ).rejects.toThrow(/^source must have whenUnreachable "throw", got "refuse"$/);
    const source = RedisTokenBucket.create({ ...options, whenUnreachable: 'throw' });
    const process = await fleet.join({ stock: 1, source });
    expect(process.stats()).toMatchObject({ failures: 1, isReachable: false });
  });

  test('throws for an invalid number of tokens', async () => {
    const { process } = await fleetOf({ stock: 10 }, { rate: 1, burst: 1 });
    expect(() => process.tryConsume(-1)).toThrow(/^n must be/);
    expect(() => process.consumeOrDrain(Number.NaN)).toThrow(/^n must be/);
    expect(() => process.returnTokens(Number.POSITIVE_INFINITY)).toThrow(/^n must be/);
    await expect(process.wait('1' as unknown as number)).rejects.toThrow(/^n must be/);
    expect(process.tryConsume(0)).toBe(true);
  });
});
