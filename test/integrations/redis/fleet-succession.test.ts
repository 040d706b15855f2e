import { describe, expect, test } from 'vitest';
import { FleetBucket, FleetSpender, type TokenWait } from '../../../src/integrations/redis.ts';
import { Fleet, INTERVAL_MS, settle } from './fleet-source.ts';

/** A fleet bucket, and another thread's spender that may take over the buying. */
async function twoBuyers(fleet: Fleet) {
  const bucket = await fleet.join({ stock: 10, minStock: 5 });
  const spender = FleetSpender.attach(bucket.handle, { source: fleet.source, random: () => 0 });
  return { bucket, spender };
}

async function spend(fleet: Fleet, spender: FleetSpender): Promise<number> {
  let spent = 0;
  for (let i = 0; i < 5; i++) {
    spent += spender.consumeOrDrain(2);
    await fleet.pass(INTERVAL_MS);
  }
  return spent;
}

describe('a buyer that stands down', () => {
  test('is followed at once by another thread with a source, which continues the counts', async () => {
    const fleet = new Fleet({ rate: 1000, burst: 1000 });
    const { bucket, spender } = await twoBuyers(fleet);
    const before = await spend(fleet, spender);
    const { purchases, bought } = bucket.stats();
    await bucket.standDown();
    const after = await spend(fleet, bucket);
    expect(before + after).toBe(20);
    expect(bucket.stats().purchases).toBeGreaterThan(purchases);
    expect(bucket.stats().bought).toBeGreaterThan(bought);
    fleet.source.isDown = true;
    await spend(fleet, bucket);
    expect(bucket.stats()).toMatchObject({ isReachable: false });
    expect(bucket.stats().failures).toBeGreaterThan(0);
    fleet.source.isDown = false;
  });

  test('returns tokens that were on their way', async () => {
    const fleet = new Fleet({ rate: 1, burst: 1000 });
    const { bucket, spender } = await twoBuyers(fleet);
    fleet.source.isHeld = true;
    bucket.tryConsume(5);
    await fleet.pass(INTERVAL_MS);
    const wanted = fleet.source.asked.at(-1);
    const gone = bucket.standDown();
    fleet.source.isHeld = false;
    fleet.source.answer();
    await gone;
    expect(fleet.source.returned).toEqual([wanted]);
    expect(bucket.stats().returned).toBe(wanted);
    await bucket.close();
    expect(spender.isClosed).toBe(true);
  });

  test('gives back the token that a probe brings', async () => {
    const fleet = new Fleet({ rate: 1, burst: 1000 });
    const { source } = fleet;
    const bucket = await fleet.join({ stock: 10 });
    source.isDown = true;
    await fleet.passUntil(() => {
      bucket.tryConsume();
      return !bucket.stats().isReachable;
    }, 20_000);
    source.isDown = false;
    source.isHeld = true;
    const before = source.asked.length;
    await fleet.passUntil(() => {
      bucket.tryConsume();
      return source.asked.length > before;
    }, 20_000);
    const gone = bucket.standDown();
    await settle();
    source.answer();
    await gone;
    expect(source.returned).toEqual([1]);
    await bucket.close();
    expect(source.returned).toEqual([1]);
  });

  // docs/fleets.md: "If all of them have ended, closed their fleet buckets"
  test('is the last one: waiting callers get an error', async () => {
    const fleet = new Fleet({ rate: 1, burst: 10, initial: 0 });
    const { bucket, spender } = await twoBuyers(fleet);
    await spender.standDown();
    await spender.standDown();
    await bucket.standDown();
    // A spender without a source has nothing to leave.
    const other = FleetSpender.attach(bucket.handle);
    await other.standDown();
    const told = await Promise.allSettled([spender, bucket, other].map((one) => one.wait()));
    const closed = { status: 'rejected', reason: { code: 'ERR_FLEET_CLOSED' } };
    expect(told).toMatchObject([closed, closed, closed]);
  });
});

test('a fleet bucket closed by another thread gives up the order of its buyer', async () => {
  const fleet = new Fleet({ rate: 10, burst: 100, initial: 0 });
  const orders: TokenWait[] = [];
  const source = Object.assign(fleet.source, {
    wait(n: number, options: TokenWait) {
      orders.push(options);
      return fleet.source.bucket.wait(n, options);
    },
  });
  const bucket = await fleet.join({ stock: 4, source });
  const spender = FleetSpender.attach(bucket.handle, { source, random: () => 0 });
  await bucket.standDown();
  const isOrdered = () => {
    spender.tryConsume();
    return orders.length > 0;
  };
  await fleet.passUntil(isOrdered, 1000, 1);
  await bucket.close();
  await settle();
  expect(orders.at(-1)?.signal.aborted).toBe(true);
  expect(fleet.source.bucket.balance()).toBeGreaterThanOrEqual(0);
});

test('a closed fleet bucket is a source that cannot be reached', async () => {
  const fleet = new Fleet({ rate: 1e6, burst: 1000 });
  const seller = await fleet.join({ stock: 100, minStock: 50 });
  const bucket = await FleetBucket.create({
    ...{ source: seller, stock: 10, clock: fleet.clock, random: () => 0 },
    ...{ whenUnreachable: 'local', rate: 1000, processes: 1 },
  });
  expect(bucket.stats()).toMatchObject({ bought: 1, isReachable: true });
  expect(seller.isClosed).toBe(false);
  await seller.close();
  expect(seller.isClosed).toBe(true);
  let spent = 0;
  let isCutOff = false;
  for (let i = 0; i < 20; i++) {
    spent += bucket.consumeOrDrain(10);
    await fleet.pass(INTERVAL_MS);
    // It never seems to answer again.
    if (isCutOff) expect(bucket.stats().isReachable).toBe(false);
    isCutOff = !bucket.stats().isReachable;
  }
  expect(isCutOff).toBe(true);
  expect(bucket.stats().failures).toBeGreaterThan(0);
  // The local share, a token per millisecond.
  expect(spent).toBeGreaterThan(50);
  await bucket.close();
  expect(bucket.stats().returned).toBe(0);
});
