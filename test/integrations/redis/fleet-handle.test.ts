import { describe, expect, test } from 'vitest';
import { HandleError, ManualClock } from '../../../src/index.ts';
import { Stock } from '../../../src/integrations/redis/fleet/stock.ts';
import { type FleetHandle, FleetSpender } from '../../../src/integrations/redis.ts';
import { FLEET_CELL, FLEET_STOCK } from '../../../src/memory/layout/fleet.ts';
import { replaceExchanges } from '../../support/replaced-exchanges.ts';
import { Market } from './fleet-market.ts';

describe('the handle of a fleet bucket with a name', () => {
  test('needs no terms, which JSON would change', async () => {
    const market = new Market({ rate: 1000, burst: 1000 });
    const source = market.source();
    const fleet = await market.open(source, { maxAgeMs: Number.POSITIVE_INFINITY, minStock: 9 });
    const { terms, ...handle } = fleet.handle;
    expect(terms).toMatchObject({ stock: 100, maxAgeMs: Number.POSITIVE_INFINITY });
    expect(Object.keys(handle).sort()).toEqual(['bucket', 'clock', 'offset', 'zerotime']);
    const b = market.source();
    const spender = FleetSpender.attach(handle as FleetHandle, { source: b, random: () => 0 });
    expect(spender.clock).toBeInstanceOf(ManualClock);
    expect(spender.handle.terms).toEqual(terms);
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
    await fleet.close();
    await other.close();
  });

  test('of a damaged stock opens nothing', async () => {
    const market = new Market({ rate: 1000, burst: 1000 });
    const source = market.source();
    const fleet = await market.open(source);
    const { handle } = fleet;
    await fleet.close();
    const cell = handle.offset ?? 0;
    market.region.f64[(cell + FLEET_CELL.minStock) >> 3] = Number.NaN;
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
    await fleet.close();
  });
});
