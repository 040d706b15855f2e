import { describe, expect, test } from 'vitest';
import { completeTerms, FleetCounts } from '../../../src/integrations/redis/fleet/cell.ts';
import { Purchases } from '../../../src/integrations/redis/fleet/purchases.ts';
import { FLEET_STOCK_BYTES } from '../../../src/memory/layout/fleet.ts';
import { Fleet, fleetOf, INTERVAL_MS, settle } from './fleet-source.ts';

describe('a fleet bucket whose source is unreachable', () => {
  test('can be created, and starts once the source is reachable', async () => {
    const fleet = new Fleet({ rate: 1000, burst: 1000 });
    fleet.source.isDown = true;
    const process = await fleet.join({ stock: 100 });
    expect(process.stats()).toMatchObject({ bought: 0, failures: 1, isReachable: false });
    expect(process.tryConsume()).toBe(false);
    fleet.source.isDown = false;
    await fleet.passUntil(() => {
      process.tryConsume(100);
      return process.available() > 0;
    }, 2000);
    expect(process.stats().isReachable).toBe(true);
  });

  test('spends its stock, then refuses, and asks the source less and less often', async () => {
    const { fleet, source, process } = await fleetOf({ stock: 100, minStock: 50 });
    source.isDown = true;
    let spent = 0;
    for (let ms = 0; ms < 10_000; ms += INTERVAL_MS) {
      if (process.tryConsume(5)) spent += 5;
      await fleet.pass(INTERVAL_MS);
    }
    expect(spent).toBe(50);
    // After 50, 100, 200, 400, 800 ms, then every second.
    expect(source.asked.length).toBeGreaterThan(8);
    expect(source.asked.length).toBeLessThanOrEqual(16);
    await process.close();
    expect(source.returned).toEqual([]);
  });

  test('grants its local share, rate / processes, from the moment of the failure', async () => {
    const fleet = new Fleet({ rate: 3000, burst: 1000 });
    const { source } = fleet;
    const local = { whenUnreachable: 'local', rate: 3000, processes: 3 } as const;
    const process = await fleet.join({ stock: 100, minStock: 50, ...local });
    // Tokens that flow into the share while the source is reachable must not be spendable later.
    await fleet.pass(5000);
    source.isDown = true;
    expect(process.consumeOrDrain(1000)).toBe(50);
    await settle();
    const downMs = fleet.clock.nowMs;
    let spent = 0;
    for (let ms = 0; ms < 2000; ms++) {
      await fleet.pass(1);
      spent += process.consumeOrDrain(1000);
      expect(spent).toBeLessThanOrEqual(fleet.clock.nowMs - downMs);
    }
    expect(spent).toBeGreaterThanOrEqual(2000 - 2 * INTERVAL_MS);
    source.isDown = false;
    await fleet.passUntil(() => {
      process.consumeOrDrain(1000);
      return process.stats().isReachable;
    }, 2000);
  });

  test('spends nothing of a failed purchase, though the source took the tokens', async () => {
    const fleet = new Fleet({ rate: 1, burst: 1000 });
    const { source } = fleet;
    const process = await fleet.join({ stock: 100, minStock: 10 });
    const { consumeOrDrain } = source;
    source.consumeOrDrain = async (n) => {
      source.bucket.consumeOrDrain(n);
      throw new Error('the connection was cut');
    };
    expect(process.consumeOrDrain(100)).toBe(10);
    await fleet.pass(INTERVAL_MS);
    expect(process.available()).toBe(0);
    source.consumeOrDrain = consumeOrDrain;
    await fleet.passUntil(() => process.available() > 0 || process.tryConsume(), 2000);
    expect(process.available()).toBeGreaterThan(0);
    // All tokens in the bucket or spent came from the source.
    expect(10 + process.available()).toBeLessThan(1000 - source.bucket.available() + 2);
  });

  test('a source that throws instead of rejecting is unreachable too', async () => {
    const { fleet, source, process } = await fleetOf({ stock: 100, minStock: 10 });
    source.consumeOrDrain = () => {
      throw new Error('at once');
    };
    source.returnTokens = () => {
      throw new Error('at once');
    };
    for (let ms = 0; ms < 500; ms += INTERVAL_MS) {
      process.consumeOrDrain(100);
      await fleet.pass(INTERVAL_MS);
    }
    expect(process.stats().failures).toBeGreaterThan(2);
  });

  test.each([undefined, Number.NaN, -1, Number.POSITIVE_INFINITY, '5'])(
    'counts the answer %s as a failure, and buys again once it is a number of tokens',
    async (answer) => {
      const { fleet, source, process } = await fleetOf({ stock: 100 });
      const { consumeOrDrain } = source;
      source.consumeOrDrain = async () => answer as number;
      expect(process.consumeOrDrain(1)).toBe(1);
      const hasFailed = () => !process.tryConsume() && process.stats().failures > 1;
      await fleet.passUntil(hasFailed, 2000);
      const cause = { message: expect.stringMatching(/^the result of source.consumeOrDrain must/) };
      expect(process.stats()).toMatchObject({ bought: 1, isReachable: false, cause });
      source.consumeOrDrain = consumeOrDrain;
      await fleet.passUntil(() => process.consumeOrDrain(1) === 1, 2000);
    },
  );

  test.each([
    { rate: 1e-6, processes: 2, stock: 10 },
    { rate: 1, processes: 2, stock: 1e9 },
    { rate: 1, processes: 2 ** 60, stock: 1 },
  ])('can have the local share of %o', async (options) => {
    const { fleet, process } = await fleetOf({ whenUnreachable: 'local', ...options });
    fleet.source.isDown = true;
    expect(process.consumeOrDrain(2)).toBe(1);
    let shared = 0;
    for (let seconds = 0; seconds < 10; seconds++) {
      await fleet.pass(1000);
      shared += process.consumeOrDrain(10);
    }
    expect(shared > 0).toBe(options.stock > 10);
  });

  test('asks a hanging source once, and returns tokens that arrive too late', async () => {
    const fleet = new Fleet({ rate: 1, burst: 1000 });
    const { source } = fleet;
    source.isDown = true;
    const process = await fleet.join({ stock: 100 });
    source.isDown = false;
    source.isHeld = true;
    for (let ms = 0; ms < 3000; ms += INTERVAL_MS) {
      expect(process.tryConsume()).toBe(false);
      await fleet.pass(INTERVAL_MS);
    }
    expect(source.asked.length).toBe(2);
    source.answer();
    await settle();
    expect(process.stats().isReachable).toBe(true);
    await process.close();
    expect(source.returned).toEqual([1]);
  });

  test('retries as soon after the second outage as after the first', async () => {
    const { fleet, source, process } = await fleetOf({ stock: 100 });
    const failuresWithin = async (ms: number) => {
      const before = process.stats().failures;
      for (let passed = 0; passed < ms; passed += INTERVAL_MS) {
        process.consumeOrDrain(1000);
        await fleet.pass(INTERVAL_MS);
      }
      return process.stats().failures - before;
    };
    source.isDown = true;
    const first = await failuresWithin(2000);
    source.isDown = false;
    expect(await failuresWithin(2000)).toBeLessThanOrEqual(1);
    expect(process.stats().isReachable).toBe(true);
    source.isDown = true;
    expect(await failuresWithin(2000)).toBe(first);
  });

  test('loses tokens that cannot be returned, and closes without an error', async () => {
    const { source, process } = await fleetOf({ stock: 100, minStock: 40 });
    source.isDown = true;
    await process.close();
    expect(process.stats()).toMatchObject({ returned: 0, failures: 1 });
    expect(process.tryConsume()).toBe(false);
  });

  test('a slow answer delays only the refill, and counts once', async () => {
    const fleet = new Fleet({ rate: 1, burst: 1000 });
    const { source } = fleet;
    const process = await fleet.join({ stock: 100, minStock: 40 });
    source.isHeld = true;
    expect(process.tryConsume(15)).toBe(true);
    await fleet.pass(INTERVAL_MS);
    for (let i = 0; i < 10; i++) await fleet.pass(INTERVAL_MS);
    expect(process.consumeOrDrain(1000)).toBe(25);
    expect(source.asked.length).toBe(2);
    source.answer();
    source.isHeld = false;
    await settle();
    const bought = source.asked.slice(1).reduce((sum, n) => sum + n, 0);
    expect(process.available()).toBe(bought);
    await process.close();
    expect(source.bucket.available()).toBeCloseTo(960 + fleet.clock.nowMs / 1000, 6);
  });

  test('grants nothing that accrued in its local share while another thread bought', async () => {
    const { clock, source } = new Fleet({ rate: 1, burst: 1 });
    source.isDown = true;
    const local = { whenUnreachable: 'local', rate: 1000, processes: 1 } as const;
    const counts = new FleetCounts(new Int32Array(new SharedArrayBuffer(FLEET_STOCK_BYTES)));
    const terms = completeTerms({ stock: 100, ...local });
    const supply = new Purchases(source, clock, terms, counts);
    expect(await supply.take(100)).toBe(0);
    clock.advance(50);
    supply.begin();
    expect(await supply.take(100)).toBe(0);
    clock.advance(10);
    expect(await supply.take(100)).toBe(10);
  });
});
