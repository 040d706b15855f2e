import { describe, expect, test } from 'vitest';
import { HandleError, ManualClock, type Region, TokenBucket } from '../../../src/index.ts';
import { Stock } from '../../../src/integrations/redis/fleet/stock.ts';
import { FleetBucket, type FleetHandle, FleetSpender } from '../../../src/integrations/redis.ts';
import { FLEET_STOCK } from '../../../src/memory/layout/fleet.ts';
import { replaceExchanges } from '../../support/replaced-exchanges.ts';
import { CLOSED, Market } from './fleet-source.ts';

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
    const _again = await market.open(source);
    await market.serve(spender.wait(2), 'the spender is served');
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
    const _other = await market.open(b);
    isWrong = true;
    await market.serve(failing.wait(10), 'the other buys');
    expect(b.asked.length).toBeGreaterThan(0);
    await expect(failing.close()).rejects.toBe(reason);
  });

  test('throws for other options than those of its name, and changes nothing', async () => {
    const market = new Market({ rate: 1000, burst: 1000 });
    const source = market.source();
    const local = { whenUnreachable: 'local', rate: 10, processes: 2 } as const;
    await market.open(source, { intervalMs: 10, maxAgeMs: 100, ...local });
    const wrong: readonly [object, string][] = [
      [{ stock: 200 }, 'stock 100, the options say 200'],
      [{ minStock: 5 }, 'minStock 1, the options say 5'],
      [{ intervalMs: 11 }, 'intervalMs 10, the options say 11'],
      [{ maxAgeMs: Number.POSITIVE_INFINITY }, 'maxAgeMs 100, the options say Infinity'],
      [{ whenUnreachable: 'refuse' }, 'whenUnreachable "local", the options say "refuse"'],
      [{ ...local, rate: 11 }, 'rate 10, the options say 11'],
      [{ ...local, processes: 3 }, 'processes 2, the options say 3'],
      [{ stats: true }, 'stats false, the options say true'],
      [{ stock: 200, onMismatch: 'reconfigure' }, 'stock 100, the options say 200'],
      [{ clock: ManualClock.open(market.region, 'other') }, 'clock "manual"'],
    ];
    for (const [options, message] of wrong) {
      const failure = market.open(source, options);
      await expect(failure).rejects.toThrow(`the limiter "hot" has ${message}`);
      await expect(failure).rejects.toMatchObject({ code: 'ERR_NAME_MISMATCH' });
    }
    const kept = await market.open(source, { stock: 200, onMismatch: 'keep' });
    expect(kept.limit).toBe(100);
    const _same = await market.open(source, { intervalMs: 10, ...local });
  });

  test('ignores the local share in every opener while it refuses', async () => {
    const market = new Market({ rate: 1000, burst: 1000 });
    const refuse = { whenUnreachable: 'refuse', rate: 10, processes: 2 } as object;
    const first = await market.open(market.source(), refuse);
    const second = await market.open(market.source(), refuse);
    expect(second.handle.offset).toBe(first.handle.offset);
  });

  test('is no other limiter', async () => {
    const market = new Market({ rate: 1000, burst: 1000 });
    const source = market.source();
    const limit = { rate: 1, burst: 1 };
    TokenBucket.open(market.region, 'bucket', limit);
    await expect(market.open(source, {}, 'bucket')).rejects.toThrow(
      /^the limiter "bucket" has kind "token-bucket", the options say "fleet-bucket"$/,
    );
    await market.open(source);
    expect(() => TokenBucket.open(market.region, 'hot', limit)).toThrow(
      /^the limiter "hot" has kind/,
    );
  });

  test('names each invalid option before it takes the name', async () => {
    const market = new Market({ rate: 1000, burst: 1000 });
    const source = market.source();
    const wrong: readonly [object, RegExp][] = [
      [{ stock: 0 }, /^stock must be/],
      [{ source: {} }, /^source must be a TokenSource/],
      [{ random: 5 }, /^random must be a function, got 5$/],
      [{ onMismatch: 'ignore' }, /^onMismatch must be one of/],
      [{ region: market.region }, /^give the region once, before the name$/],
      [{ sauce: 1 }, /^options has no option "sauce"; did you mean source\?$/],
      [{ clock: ManualClock.create() }, /^the clock of a named limiter must be/],
    ];
    for (const [options, message] of wrong) {
      await expect(market.open(source, options)).rejects.toThrow(message);
    }
    const nowhere = FleetBucket.open({} as Region, 'hot', { source, stock: 5 });
    await expect(nowhere).rejects.toThrow(/^region must be a Region/);
    const fleet = await market.open(source, { stock: 50 });
    expect(fleet.limit).toBe(50);
  });

  test('reads the system clock by default', async () => {
    const market = new Market({ rate: 1000, burst: 1000 });
    const source = market.source();
    const fleet = await FleetBucket.open(market.region, 'hot', { source, stock: 10 });
    expect(fleet.clock.name).toBe('system');
    expect(await fleet.wait(1)).toEqual({ waitedMs: 0 });
    await fleet[Symbol.asyncDispose]();
  });
});

describe('the handle of a fleet bucket with a name', () => {
  test('needs no terms, which JSON would change', async () => {
    const market = new Market({ rate: 1000, burst: 1000 });
    const source = market.source();
    const fleet = await market.open(source, { maxAgeMs: Number.POSITIVE_INFINITY, minStock: 9 });
    const { handle } = fleet;
    expect(Object.keys(handle).sort()).toEqual(['bucket', 'clock', 'offset', 'zerotime']);
    const b = market.source();
    const spender = FleetSpender.attach(handle, { source: b, random: () => 0 });
    expect(spender.clock.name).toBe('manual');
    const terms = { stock: 100, minStock: 9, maxAgeMs: Number.POSITIVE_INFINITY };
    expect(Stock.open(spender.handle).terms).toMatchObject(terms);
    expect(spender.consumeOrDrain(20)).toBe(9);
    await fleet.close();
    await market.passUntil(() => b.asked.length > 0, 'it takes over');
    await spender.standDown();
  });

  test('is checked', async () => {
    const market = new Market({ rate: 1000, burst: 1000 });
    const source = market.source();
    const fleet = await market.open(source);
    const other = await market.open(source, {}, 'other');
    const { handle } = fleet;
    const wrong = [
      { ...handle, offset: handle.bucket.offset },
      { ...handle, offset: 'here' },
      { ...handle, offset: 2 ** 30 },
      { ...handle, offset: undefined },
      { ...handle, bucket: other.handle.bucket },
      { ...handle, zerotime: 'region' },
    ];
    for (const value of wrong) {
      expect(() => FleetSpender.attach(value as FleetHandle)).toThrow(HandleError);
    }
  });

  test('of a damaged stock opens nothing', async () => {
    const market = new Market({ rate: 1000, burst: 1000 });
    const source = market.source();
    const fleet = await market.open(source);
    const { handle } = fleet;
    await fleet.close();
    const cell = handle.offset ?? 0;
    market.region.f64[(cell + FLEET_STOCK.minStock) >> 3] = Number.NaN;
    const damaged = { code: 'ERR_REGION_DAMAGED' };
    expect(() => FleetSpender.attach(handle)).toThrow(expect.objectContaining(damaged));
    await expect(market.open(source)).rejects.toMatchObject(damaged);
  });
});

describe('a leader that resigns', () => {
  test('keeps what a successor has written by then', async () => {
    const market = new Market({ rate: 1000, burst: 1000 });
    const fleet = await market.open(market.source());
    const { leader } = Stock.open(fleet.handle);
    leader.vacate(leader.epoch);
    const epoch = leader.claim() ?? Number.NaN;
    const thread = ((fleet.handle.offset ?? 0) + FLEET_STOCK.thread) >> 2;
    const successor = 2 ** 30;
    const spy = replaceExchanges<number>((exchange, { next }) => {
      const found = exchange();
      // The first exchange ends the epoch: at once another thread is the leader.
      if (next !== 0) Atomics.store(market.region.i32, thread, successor);
      return found;
    });
    leader.resign(epoch);
    spy.mockRestore();
    expect(market.region.i32[thread]).toBe(successor);
    expect(leader.isHeldBy(epoch)).toBe(false);
    leader.resign(epoch);
  });
});
