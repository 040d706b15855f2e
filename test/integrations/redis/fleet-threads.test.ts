import { once } from 'node:events';
import { describe, expect, test } from 'vitest';
import { HandleError, ManualClock, TokenBucket } from '../../../src/index.ts';
import { type FleetHandle, FleetSpender } from '../../../src/integrations/redis.ts';
import { FLEET_STOCK_BYTES } from '../../../src/memory/layout/fleet.ts';
import { Crew } from '../../support/crew.ts';
import { part } from '../../support/random.ts';
import { until } from '../../support/settled.ts';
import type { FleetSpendJob, FleetSpent } from '../../workers/fleet-spender.ts';
import { Fleet, fleetOf, settle } from './fleet-source.ts';

const THREADS = 4;
const LEAST_PURCHASES = part(100, 20);
const MOST_STEPS = 100_000;

/** Lets threads spend one stock until there were many purchases and a failed exchange. */
async function contend(call: FleetSpendJob['call'], n: number) {
  const isKept = call !== 'take and return';
  // Returned tokens are lost if the stock is full, so use a stock that never fills.
  const comesBack = !isKept || call === 'wait';
  const fleet = new Fleet({ rate: 1e6, burst: 100_000, initial: 1000 });
  const process = await fleet.join({ stock: comesBack ? 1e9 : 5000, stats: true });
  const crew = await Crew.start<FleetSpendJob, FleetSpent>('fleet-spender', THREADS);
  const stop = new SharedArrayBuffer(4);
  const served = new SharedArrayBuffer(4);
  const spent = crew.run({ handle: process.handle, call, n, stop, served });
  const races = () => process.stats().threads?.failedExchanges ?? 0;
  const isServed = () => !isKept || new Int32Array(served)[0] === THREADS;
  const leastPurchases = isKept ? LEAST_PURCHASES : 2;
  for (
    let steps = 0;
    process.stats().purchases < leastPurchases || races() === 0 || !isServed();
    steps++
  ) {
    expect(steps, 'steps without a failed exchange').toBeLessThan(MOST_STEPS);
    await fleet.pass(1);
  }
  Atomics.store(new Int32Array(stop), 0, 1);
  return { fleet, process, crew, spent };
}

describe('threads that spend one stock', () => {
  test.each([
    ['tryConsume', 1],
    ['tryConsume', 3],
    ['consumeOrDrain', 7],
    ['take and return', 2],
  ] as const)('take with %s(%d) what was bought, each token once', async (call, n) => {
    const { process, spent } = await contend(call, n);
    const sum = (await spent).reduce((total, tokens) => total + tokens, 0);
    const { bought, returned } = process.stats();
    expect(sum).toBe(bought - returned - process.available());
  });

  test('wait for bought tokens and get each once, although some give up', async () => {
    const { fleet, process, spent } = await contend('wait', 2);
    let isDone = false;
    const sums = spent.finally(() => {
      isDone = true;
    });
    await until(() => {
      fleet.clock.advance(1);
      return isDone;
    }, 'the last waits');
    const sum = (await sums).reduce((total, tokens) => total + tokens, 0);
    // The tokens of the last wait to give up arrive at its turn.
    const left = () => {
      const { bought, returned } = process.stats();
      return bought - returned - process.available();
    };
    await until(() => {
      fleet.clock.advance(1);
      return left() === sum;
    }, 'nobody waits');
  });

  test('wake the buyer from another thread', async () => {
    const { fleet, process } = await fleetOf({ stock: 10, minStock: 10 }, { rate: 1, burst: 100 });
    await settle();
    expect(fleet.source.asked).toEqual([10]);
    const crew = await Crew.start<FleetSpendJob, FleetSpent>('fleet-spender', 1);
    const stop = new SharedArrayBuffer(4);
    const served = new SharedArrayBuffer(4);
    const spent = crew.run({ handle: process.handle, call: 'consumeOrDrain', n: 10, stop, served });
    await until(() => {
      fleet.clock.advance(20);
      return fleet.source.asked.length > 1;
    }, 'a purchase');
    Atomics.store(new Int32Array(stop), 0, 1);
    await spent;
  });

  test('that are terminated lose only the tokens they waited for', async () => {
    const { fleet, process, crew, spent } = await contend('wait', 2);
    spent.catch(() => undefined);
    const ends = crew.workers.map((worker) => once(worker, 'exit'));
    for (const worker of crew.workers) worker.terminate();
    await Promise.all(ends);
    for (let i = 0; i < 100 && !process.tryConsume(); i++) await fleet.pass(20);
    expect(process.tryConsume()).toBe(true);
  });
});

describe("a fleet bucket's handle", () => {
  test('attaches to the same stock, and survives structuredClone', async () => {
    const { process } = await fleetOf({ stock: 10, minStock: 10 }, { rate: 1, burst: 100 });
    const spender = FleetSpender.attach(structuredClone(process.handle));
    expect(spender.limit).toBe(10);
    expect(spender.tryConsume(4)).toBe(true);
    expect(process.available()).toBe(6);
    await process.close();
    expect(spender.tryConsume()).toBe(false);
  });

  test('carries the clock for timeouts', async () => {
    const { fleet, process } = await fleetOf({ stock: 10 }, { rate: 1, burst: 1, initial: 0 });
    const spender = FleetSpender.attach(process.handle);
    const wait = spender.wait(5, { timeoutMs: 1000 });
    const failure = expect(wait).rejects.toMatchObject({ code: 'ERR_RATE_LIMIT_TIMEOUT' });
    await fleet.pass(1000);
    await failure;
  });

  test('is checked', async () => {
    const { process } = await fleetOf({ stock: 10 }, { rate: 1, burst: 100 });
    const { handle } = process;
    const clock = ManualClock.create();
    const wrong = [
      undefined,
      {},
      handle.bucket,
      { ...handle, zerotime: 'token-bucket' },
      { ...handle, signals: new SharedArrayBuffer(8) },
      { ...handle, signals: new ArrayBuffer(FLEET_STOCK_BYTES) },
      { ...handle, bucket: undefined },
      { ...handle, clock: undefined },
      { ...handle, clock: { name: 'sundial' } },
      { ...handle, bucket: TokenBucket.create({ rate: 1, burst: 1 }).handle },
      { ...handle, bucket: { ...handle.bucket, clock: clock.handle, offset: 8 } },
    ];
    for (const value of wrong) {
      expect(() => FleetSpender.attach(value as FleetHandle)).toThrow(HandleError);
    }
  });
});
