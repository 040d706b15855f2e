import { existsSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { Region } from '../../../src/index.ts';
import { Buyer } from '../../../src/integrations/redis/fleet/buyer.ts';
import { doesRun, ownOsThread } from '../../../src/integrations/redis/fleet/leader.ts';
import { Stock } from '../../../src/integrations/redis/fleet/stock.ts';
import { FleetSpender } from '../../../src/integrations/redis.ts';
import { FLEET_STOCK, FLEET_STOCK_BYTES } from '../../../src/memory/layout/fleet.ts';
import { Owner } from './fleet-owner.ts';
import { Fleet, fleetOf, settle } from './fleet-source.ts';

/** Only where the system tells which threads run. */
const hasThreadList = existsSync('/proc/thread-self');

describe('a wait that timed out', () => {
  test('does not keep its thread alive', async () => {
    const owner = new Owner('after a timeout');
    await owner.ended;
  });
});

describe('a fleet bucket that was replaced', () => {
  test('serves callers that already wait in its thread', async () => {
    const fleet = new Fleet({ rate: 1000, burst: 50, initial: 0 });
    const bucket = await fleet.join({ stock: 10 });
    let isServed = false;
    const served = bucket.wait().then(() => {
      isServed = true;
    });
    const { leader } = Stock.open(bucket.handle);
    leader.vacate(leader.epoch);
    // A successor that never gives a sign of life.
    expect(leader.claim()).toBeDefined();
    while (!isServed) {
      await sleep(10);
      await fleet.pass(20);
    }
    await served;
  });
});

describe('a fleet bucket closed by a thread that ended before it woke the waiters', () => {
  test('tells them', async () => {
    const fleet = new Fleet({ rate: 1, burst: 10, initial: 0 });
    const bucket = await fleet.join({ stock: 10 });
    const told = expect(FleetSpender.attach(bucket.handle).wait()).rejects.toMatchObject({
      code: 'ERR_FLEET_CLOSED',
    });
    Stock.open(bucket.handle).leader.close();
    await told;
  });
});

describe('a stock', () => {
  test('is closed by callers that miss its buyer only while it has no leader', async () => {
    const fleet = new Fleet({ rate: 1, burst: 10, initial: 0 });
    const stock = Stock.open((await fleet.join({ stock: 10 })).handle);
    stock.closeVacant();
    expect(stock.isClosed).toBe(false);
    stock.leader.vacate(stock.leader.epoch);
    stock.closeVacant();
    expect(stock.isClosed).toBe(true);
  });
});

describe('a leader that is replaced', () => {
  test('is not taken from a successor by a thread that missed the last buyer', async () => {
    const fleet = new Fleet({ rate: 1, burst: 10, initial: 0 });
    const { leader } = Stock.open((await fleet.join({ stock: 10 })).handle);
    const { epoch } = leader;
    leader.vacate(epoch);
    const next = leader.claim() ?? Number.NaN;
    leader.vacate(epoch);
    expect(leader.isHeldBy(next)).toBe(true);
  });

  test('lets a buyer open that lost it before its first purchase', async () => {
    const { fleet, process: first } = await fleetOf({ stock: 10 }, { rate: 1, burst: 10 });
    const stock = Stock.open(first.handle);
    const { source } = fleet;
    let isLost = false;
    const clock = new Proxy(fleet.clock, {
      get(target, key) {
        const { leader } = stock;
        // Between becoming the leader and the first look.
        if (!isLost && !leader.isVacant && key === 'now') {
          isLost = true;
          leader.vacate(leader.epoch);
        }
        const value: unknown = Reflect.get(target, key);
        return typeof value === 'function' ? value.bind(target) : value;
      },
    });
    await first.standDown();
    const buyer = new Buyer(stock, source, clock, () => 0);
    await buyer.open();
    expect(isLost).toBe(true);
  });
});

describe('a random that throws', () => {
  const reason = new Error('on purpose');

  test('fails the creation', async () => {
    const fleet = new Fleet({ rate: 1, burst: 10 });
    const random = () => {
      throw reason;
    };
    await expect(fleet.join({ stock: 10, random })).rejects.toBe(reason);
    await expect(fleet.join({ stock: 10, random: () => 2 })).rejects.toThrow(
      /^random\(\) must be a number at least 0 and at most 1, got 2$/,
    );
    expect(fleet.source.asked).toEqual([]);
  });

  test('closes a fleet bucket that is in use, and fails its close', async () => {
    const fleet = new Fleet({ rate: 1, burst: 10 });
    let isWrong = false;
    const random = () => {
      if (isWrong) throw reason;
      return 0;
    };
    const bucket = await fleet.join({ stock: 10, random });
    isWrong = true;
    const told = expect(bucket.wait(10)).rejects.toMatchObject({
      code: 'ERR_FLEET_CLOSED',
      cause: reason,
    });
    for (let i = 0; i < 5; i++) await fleet.pass(20);
    await told;
    await expect(bucket.close()).rejects.toBe(reason);
    await settle();
    expect(fleet.source.returned.length).toBeLessThanOrEqual(1);
  });
});

describe('a thread as the system knows it', () => {
  test.skipIf(!hasThreadList)('runs while it has its id and the time of its start', () => {
    const own = ownOsThread();
    expect(doesRun(own)).toBe(true);
    expect(doesRun({ ...own, started: own.started - 1 })).toBe(false);
  });

  test('has ended if there is none with its id, and may run if the system does not tell', () => {
    expect(doesRun({ id: 2 ** 30, started: 0 })).toBe(false);
    expect(doesRun({ id: 0, started: 0 })).toBeUndefined();
  });
});

describe("a fleet bucket's handle", () => {
  test('has the terms of the thread that takes over, which are checked', async () => {
    const fleet = new Fleet({ rate: 1, burst: 10 });
    const local = { whenUnreachable: 'local', rate: 3, processes: 3 } as const;
    const bucket = await fleet.join({ stock: 10, minStock: 2, ...local });
    const { handle } = bucket;
    const terms = { stock: 10, minStock: 2, intervalMs: 20, maxAgeMs: 1000, ...local };
    expect(Stock.open(structuredClone(handle)).terms).toEqual(terms);
    for (const [term, wrong] of [
      ['stock', 0],
      ['minStock', 11],
      ['intervalMs', Number.NaN],
      ['rate', 0],
    ] as const) {
      const signals = new SharedArrayBuffer(FLEET_STOCK_BYTES);
      new Uint8Array(signals).set(new Uint8Array(handle.signals as SharedArrayBuffer));
      expect(() => FleetSpender.attach({ ...handle, signals })).not.toThrow();
      new Float64Array(signals)[FLEET_STOCK[term] >> 3] = wrong;
      expect(() => FleetSpender.attach({ ...handle, signals })).toThrow(/terms make no sense/);
    }
    const attach = (options: object) => () => FleetSpender.attach(handle, options);
    expect(attach({ source: {} })).toThrow(/^source must be a TokenSource/);
    const from = { consumeOrDrain: async () => 0, returnTokens: async () => {} };
    expect(attach({ source: { ...from, returnTokens: 5 } })).toThrow(
      /^source.returnTokens must be/,
    );
    expect(attach({ source: { ...from, wait: 5 } })).toThrow(/^source.wait must be a function/);
    for (const options of [{ source: from, random: 5 }, { random: 5 }]) {
      expect(attach(options)).toThrow(/^random must be a function, got 5$/);
    }
    await expect(fleet.join({ stock: 1, interval: 5 } as { stock: number })).rejects.toThrow(
      /^options has no option "interval"/,
    );
    const region = Region.create();
    const { bytesFree } = region;
    const wrong = { stock: 1, region, random: 5 } as never;
    await expect(fleet.join(wrong)).rejects.toThrow(/^random must be a function, got 5$/);
    expect(region.bytesFree).toBe(bytesFree);
    expect(attach({ sauce: {} })).toThrow(/^options has no option "sauce"; did you mean source\?$/);
  });
});
