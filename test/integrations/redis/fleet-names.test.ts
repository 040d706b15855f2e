import { describe, expect, test } from 'vitest';
import { Stock } from '../../../src/integrations/redis/fleet/stock.ts';
import { type FleetBucket, FleetSpender } from '../../../src/integrations/redis.ts';
import { CLOSED, Market } from './fleet-market.ts';

describe('a fleet bucket with a name', () => {
  test('has one stock and one buyer for all who open it', async () => {
    const market = new Market({ rate: 1000, burst: 1000 });
    const [a, b] = [market.source(), market.source()];
    const first = await market.open(a, { minStock: 7 });
    const second = await market.open(b, { minStock: 7 });
    expect([a.asked, b.asked]).toEqual([[7], []]);
    expect(second.tryConsume(5)).toBe(true);
    expect(first.available()).toBe(2);
    const served = second.wait(30);
    await market.serve(served, 'the other buys for it');
    expect(b.asked).toEqual([]);
    expect(second.stats()).toMatchObject({
      purchases: first.stats().purchases,
      threads: undefined,
    });
    await first.close();
    await second.close();
  });

  test('goes on for the others if the one that buys is closed', async () => {
    const market = new Market({ rate: 1000, burst: 1000, initial: 0 });
    const [a, b] = [market.source(), market.source()];
    const first = await market.open(a);
    const second = await market.open(b);
    const told = expect(first.wait(2)).rejects.toMatchObject(CLOSED);
    const served = second.wait(2);
    const closed = first.close();
    expect(first.isClosed).toBe(true);
    expect([first.tryConsume(), first.consumeOrDrain(5), first.available()]).toEqual([false, 0, 0]);
    expect(() => first.tryConsume(-1)).toThrow(/^n must be/);
    expect(() => first.consumeOrDrain(-1)).toThrow(/^n must be/);
    await expect(first.wait()).rejects.toThrow(/^the fleet bucket is closed$/);
    await closed;
    await first.close();
    await told;
    const boughtBefore = a.asked.length;
    await market.serve(served, 'the second buys for itself');
    expect(a.asked.length).toBe(boughtBefore);
    expect(b.asked.length).toBeGreaterThan(0);
    expect(second.isClosed).toBe(false);
    await second.close();
  });

  test('returns its tokens when the last one is closed, and can be opened again', async () => {
    const market = new Market({ rate: 1e-5, burst: 1000 });
    const a = market.source();
    const options = { minStock: 60, stats: true, maxAgeMs: Number.POSITIVE_INFINITY };
    const [first, second] = [await market.open(a, options), await market.open(a, options)];
    expect(first.tryConsume(10)).toBe(true);
    await first.close();
    expect(a.returned).toEqual([]);
    await second.close();
    const { bought, returned } = second.stats();
    expect(bought - returned).toBe(10);
    expect(a.returned).toEqual([returned]);
    const third = await market.open(a, options);
    expect(third.available()).toBe(60);
    expect(third.stats()).toMatchObject({ bought: bought + 60, returned });
    expect(third.stats().threads?.admitted).toBe(10 + returned);
    await third.close();
    expect(Math.round(market.bucket.available())).toBe(990);
  });

  test('stays open for the last of hundreds in one process', async () => {
    const market = new Market({ rate: 1e-5, burst: 1000 });
    const source = market.source();
    const options = { minStock: 60, maxAgeMs: Number.POSITIVE_INFINITY };
    // One more than a byte can count: closing one must not look like closing the last.
    const all: FleetBucket[] = [];
    for (let i = 0; i < 257; i++) all.push(await market.open(source, options));
    const last = all.pop();
    await all.pop()?.close();
    expect(source.returned).toEqual([]);
    for (const one of all) await one.close();
    expect(last?.available()).toBe(60);
    await last?.close();
    expect(source.returned).toEqual([60]);
  });

  test('leaves no debt if it is closed while several callers wait, and returns what it bought', async () => {
    const market = new Market({ rate: 1e-5, burst: 10 });
    const source = market.source();
    const fleet = await market.open(source, { minStock: 10 });
    const told = [1, 2, 3, 4].map(() => expect(fleet.wait(30)).rejects.toMatchObject(CLOSED));
    expect(fleet.waiting).toBe(told.length);
    await fleet.close();
    await Promise.all(told);
    expect(Stock.open(fleet.handle).balance).toBe(0);
    expect(source.returned).toEqual([10]);
  });

  test('tells callers if nobody buys, and serves them once somebody does', async () => {
    const market = new Market({ rate: 1e6, burst: 1000 });
    const source = market.source();
    const fleet = await market.open(source);
    const spender = FleetSpender.attach(fleet.handle);
    await fleet.close();
    await expect(spender.wait(2)).rejects.toThrow(/^the fleet bucket has no buyer$/);
    expect(spender.isClosed).toBe(false);
    const again = await market.open(source);
    await market.serve(spender.wait(2), 'the spender is served');
    await again.close();
  });

  test('is given up by a buyer whose random throws, and bought for by another', async () => {
    const market = new Market({ rate: 1e6, burst: 1000 });
    const reason = new Error('on purpose');
    let isWrong = true;
    const random = () => {
      if (isWrong) throw reason;
      return 0;
    };
    await expect(market.open(market.source(), { random })).rejects.toBe(reason);
    isWrong = false;
    const failing = await market.open(market.source(), { random });
    const b = market.source();
    const other = await market.open(b);
    isWrong = true;
    await market.serve(failing.wait(10), 'the other buys');
    expect(b.asked.length).toBeGreaterThan(0);
    await expect(failing.close()).rejects.toBe(reason);
    await other.close();
  });
});
