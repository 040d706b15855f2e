import { describe, expect, test, vi } from 'vitest';
import { TokenBucket } from '../../../src/index.ts';
import { Stock } from '../../../src/integrations/redis/fleet/stock.ts';
import { FleetSpender } from '../../../src/integrations/redis.ts';
import { FLEET_CELL, FLEET_MEMBER, FLEET_MEMBER_BYTES } from '../../../src/memory/layout/fleet.ts';
import { until } from '../../support/settled.ts';
import { CLOSED, settle, sourceOn } from './fleet-source.ts';
import { HostFleet, NO_SOURCE, result, STOCK } from './host-fleet.ts';

/** As many tokens as are in stock at the start, and no more until a test adds some. */
const SCARCE = { limit: { rate: 1e-6, burst: 10 }, stock: STOCK, minStock: 10 };

/** The tokens of a fleet: what the market has, the stock's balance, and the spent ones. */
class Scarcity {
  readonly fleet = new HostFleet(SCARCE);
  readonly market = TokenBucket.open(this.fleet.region, 'market', SCARCE.limit);

  /** Whether each wait of this thread has ended, in order. */
  readonly served: boolean[] = [];

  wait(spender: FleetSpender, n: number): void {
    const index = this.served.push(false) - 1;
    spender.wait(n).then(
      () => {
        this.served[index] = true;
      },
      () => undefined,
    );
  }

  /** Waits until the death of a process that waited for `tokens` has been noticed. */
  async recovered(tokens: number): Promise<void> {
    await until(() => this.fleet.region.recovered().tokens >= tokens, 'its tokens came back');
    expect(this.fleet.region.recovered()).toEqual({ processes: 1, permits: 0, tokens });
  }
}

describe('the tokens for which a killed process waited', () => {
  test.each([
    ['before them', [30, 30], [0, 0, 5, 5], [true, false]],
    ['behind them', [0, 0, 30, 30], [5, 5], [true, false]],
    ['in between', [20, 20, 20], [5, 5], [false, false]],
  ])('go to those who wait too, if it waited %s', async (_, dead, own, afterFive) => {
    const scarcity = new Scarcity();
    const { fleet, market } = scarcity;
    const [buyer, killed] = await fleet.addTwo();
    const spender = await fleet.spender();
    await until(() => spender.consumeOrDrain(10) === 10, 'the first tokens');
    for (let i = 0; i < Math.max(dead.length, own.length); i++) {
      const [theirs = 0, ours = 0] = [dead[i], own[i]];
      if (theirs > 0) await result(killed, { wait: theirs });
      if (ours > 0) scarcity.wait(spender, ours);
    }
    await fleet.kill(killed);
    await scarcity.recovered(60);
    await settle();
    // Nothing was bought since.
    expect(scarcity.served).toEqual([false, false]);
    market.returnTokens(5);
    await until(() => Stock.open(spender.handle).counts.of('bought') >= 15, 'they are bought');
    await until(() => scarcity.served[0] === afterFive[0], 'the first is served if it can be');
    await settle();
    expect(scarcity.served).toEqual(afterFive);
    market.returnTokens(5);
    await until(() => scarcity.served.every((isServed) => isServed), 'both are served');
    const { bought, returned } = (await fleet.look(buyer)).stats;
    expect(bought - returned).toBe(20);
    expect(Stock.open(spender.handle).balance).toBe(0);
    expect(spender.tryConsume(0.01)).toBe(false);
    await result(buyer, { close: true });
  });

  test('are no debt for the next process, if all were killed', async () => {
    const scarcity = new Scarcity();
    const { fleet, market } = scarcity;
    const children = await fleet.addTwo();
    for (const child of children) await result(child, { wait: 35 });
    // Otherwise the second may be killed while it recovers the first.
    for (const child of children) child.kill('SIGSTOP');
    for (const child of children) await fleet.kill(child);
    await until(() => fleet.region.recovered().processes === 2, 'both have been recovered');
    expect(fleet.region.recovered().tokens).toBe(70);
    const next = await fleet.open(sourceOn(market));
    // Those in stock were not enough for either.
    await until(() => next.available() === 10, 'the tokens in stock are free again');
    expect(next.consumeOrDrain(STOCK)).toBe(10);
  });
});

describe('a region that is closed before its fleet bucket', () => {
  test('ends the waits of this thread, and leaves the rest to the other processes', async () => {
    const { fleet, market } = new Scarcity();
    const { region } = fleet;
    const bucket = await fleet.open(sourceOn(market));
    const entry = region.handle.process ?? 0;
    const other = await fleet.addOne();
    const told = expect(bucket.wait(STOCK)).rejects.toMatchObject(CLOSED);
    expect(fleet.buyerEntry).toBe(entry);
    region.close();
    expect(bucket.isClosed).toBe(true);
    expect([bucket.tryConsume(), bucket.consumeOrDrain(5), bucket.available()]).toEqual([
      false,
      0,
      0,
    ]);
    await expect(bucket.wait()).rejects.toMatchObject(CLOSED);
    await told;
    await until(() => fleet.buyer === other, 'the other is the leader');
    await expect(fleet.open(sourceOn(market))).rejects.toThrow(/^the region was closed$/);

    // The next process gets the entry, and its member must not be counted down.
    const next = await fleet.addOne();
    const member = (bucket.handle.offset ?? 0) + FLEET_CELL.members + entry * FLEET_MEMBER_BYTES;
    const buckets = () => region.i32[(member + FLEET_MEMBER.buckets) >> 2];
    expect(buckets()).toBe(1);
    await bucket.close();
    expect(buckets()).toBe(1);
    // The wait left no debt, and its tokens are still there for the others.
    const { handle } = await fleet.look(other);
    expect(handle.offset).toBe(bucket.handle.offset);
    await until(() => Stock.open(bucket.handle).balance === 10, 'the tokens are in stock');
    await result(other, { close: true });
    expect(Math.round(market.available())).toBe(0);
    await result(next, { close: true });
    expect(Math.round(market.available())).toBe(10);
  });

  // docs/fleets.md: "Otherwise it gets no more tokens and its waits reject"
  test('ends the waits of this thread within 0.2 s if nobody is left to buy', async () => {
    const { fleet } = new Scarcity();
    const { region } = fleet;
    const bucket = await fleet.open(NO_SOURCE);
    const spender = FleetSpender.attach(bucket.handle);
    vi.useFakeTimers({ toFake: ['setTimeout'] });
    const told = [bucket, spender].map((one) =>
      expect(one.wait()).rejects.toThrow(/^the fleet bucket is closed$/),
    );
    await settle();
    region.close();
    await settle();
    vi.advanceTimersByTime(200);
    await Promise.all(told);
    expect(Stock.open(bucket.handle).balance).toBe(-2);
  });
});
