import { describe, expect, test } from 'vitest';
import { ManualClock, RateLimitError, TokenBucket } from '../../../src/index.ts';
import { QueuedPurchases } from '../../../src/integrations/redis/fleet/purchases.ts';
import { FleetBucket, type TokenWait } from '../../../src/integrations/redis.ts';
import { ControlledSource, settle } from './fleet-source.ts';

const TERMS = { stock: 100, minStock: 1, intervalMs: 20, maxAgeMs: 1000 };

/** A source in which callers can queue. */
class QueueingSource extends ControlledSource {
  readonly ordered: number[] = [];

  wait(n: number, options: TokenWait): Promise<unknown> {
    this.ordered.push(n);
    if (this.isDown) return Promise.reject(new Error('unreachable'));
    return this.bucket.wait(n, options);
  }
}

function source(limit: { rate: number; burst: number; initial?: number }) {
  const clock = ManualClock.create();
  return { clock, from: new QueueingSource(TokenBucket.create({ ...limit, clock })) };
}

/** QueuedPurchases on a source that has just come short. */
async function scarce(limit = { rate: 1000, burst: 1000, initial: 0 }) {
  const { clock, from } = source(limit);
  const orders = new QueuedPurchases(from, clock, TERMS);
  expect(await orders.take(80)).toBe(0);
  /** Takes tokens, and advances the clock until they are there. */
  const take = async (n: number) => {
    let got: number | undefined;
    const taken = orders.take(n).then((tokens) => {
      got = tokens;
    });
    await settle();
    while (got === undefined) {
      clock.advance(1);
      await settle();
    }
    await taken;
    return got;
  };
  return { clock, from, orders, take };
}

describe('orders', () => {
  test('are made only after the source came short', async () => {
    const { clock, from } = source({ rate: 1000, burst: 1000 });
    const orders = new QueuedPurchases(from, clock, TERMS);
    expect(await orders.take(80)).toBe(80);
    expect(orders.isDue).toBe(false);
    expect(from.ordered).toEqual([]);
  });

  test('are of half a stock at most, and of less if less is wanted', async () => {
    const { from, take } = await scarce();
    expect(await take(80)).toBe(50);
    expect(await take(30)).toBe(30);
    expect(from.ordered).toEqual([50, 30]);
  });

  test('end when one is served at once', async () => {
    const { clock, from, orders, take } = await scarce();
    clock.advance(500);
    expect(await take(80)).toBe(50);
    expect(orders.isDue).toBe(false);
    expect(await take(80)).toBe(80);
    expect(from.ordered).toEqual([50]);
  });

  test('are of a whole stock while the queue is short', async () => {
    const { clock, from, orders, take } = await scarce({ rate: 10_000, burst: 1000, initial: 0 });
    // 5 ms: a quarter of an interval.
    expect(await take(80)).toBe(50);
    expect(orders.isDue).toBe(true);
    expect(await take(80)).toBe(80);
    expect(from.ordered).toEqual([50, 80]);
    expect(clock.nowMs).toBe(13);
  });

  // docs/fleets.md: "With larger ones, or if half a stock exceeds"
  test('that would take too long are halved, and doubled again in time', async () => {
    const { from, take } = await scarce({ rate: 100, burst: 1000, initial: 0 });
    // At most eight intervals, 160 ms.
    for (const got of [0, 0, 13]) expect(await take(80)).toBe(got);
    expect(from.ordered).toEqual([50, 25, 13]);
    for (let i = 0; i < 15; i++) expect(await take(80)).toBe(13);
    expect(await take(80)).toBe(0);
    expect(from.ordered.at(-1)).toBe(25);
    expect(await take(80)).toBe(13);
  });

  test('that the source can never serve are halved', async () => {
    const { take } = await scarce({ rate: 1000, burst: 30, initial: 0 });
    expect(await take(80)).toBe(0);
    expect(await take(80)).toBe(25);
  });

  test('are given up when closed, and then bring nothing', async () => {
    const { from, orders } = await scarce();
    const taken = orders.take(80);
    orders.close();
    expect(await taken).toBe(0);
    expect(from.bucket.available()).toBe(0);
    expect(from.bucket.balance()).toBe(0);
  });

  test('fail with the error of an unreachable source', async () => {
    const { from, orders } = await scarce();
    from.isDown = true;
    await expect(orders.take(80)).rejects.toThrow('unreachable');
    from.wait = () => Promise.reject(new RateLimitError('ERR_UNREACHABLE', 'unreachable'));
    await expect(orders.take(80)).rejects.toThrow('unreachable');
  });
});

describe('fleet buckets that want more than there is', () => {
  /** What each got of `ms` milliseconds of the rate, after as many. */
  async function shares(stocks: readonly number[], demands: readonly number[], ms: number) {
    const { clock, from } = source({ rate: 1000, burst: 100 });
    const join = (stock: number) =>
      FleetBucket.create({ source: from, stock, clock, random: () => 0 });
    const buckets = await Promise.all(stocks.map(join));
    let spent = stocks.map(() => 0);
    const before = stocks.map(() => 0);
    for (let passed = 0; passed < 2 * ms; passed++) {
      if (passed === ms) before.splice(0, before.length, ...spent);
      clock.advance(1);
      await settle();
      expect(from.bucket.waiting, 'orders').toBeLessThanOrEqual(buckets.length);
      spent = spent.map((tokens, i) => tokens + (buckets[i]?.consumeOrDrain(demands[i] ?? 0) ?? 0));
    }
    await Promise.all(buckets.map((bucket) => bucket.close()));
    return spent.map((tokens, i) => (tokens - (before[i] ?? 0)) / ms);
  }

  // docs/fleets.md: "The source serves orders as they arrive"
  test('get the same, though one asks for nine times as much', async () => {
    const [modest = 0, greedy = 0] = await shares([40, 40], [1, 9], 2000);
    expect(modest).toBeGreaterThan(0.475);
    expect(greedy).toBeGreaterThan(0.475);
    expect(modest + greedy).toBeGreaterThan(0.99);
  });

  test('get shares in proportion to their stocks', async () => {
    const [small = 0, large = 0] = await shares([30, 90], [5, 5], 2000);
    expect(large / small).toBeGreaterThan(3 * 0.95);
    expect(large / small).toBeLessThan(3 * 1.05);
    expect(small + large).toBeGreaterThan(0.99);
  });
});
