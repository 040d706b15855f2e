import { existsSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { mostBeyondRate, type Spend } from '../../../bench/spend-log.ts';
import { systemClock } from '../../../src/index.ts';
import { FleetSpender } from '../../../src/integrations/redis.ts';
import { part } from '../../support/random.ts';
import type { FleetEnd } from '../../workers/fleet-owner.ts';
import { BURST, Owner, RATE, STOCK } from './fleet-owner.ts';
import { sourceOn } from './fleet-source.ts';

/** Owners that end in each way. ZEROTIME_ENDS=50 makes them as many as the claim is about. */
const OWNERS = Number(process.env['ZEROTIME_ENDS'] ?? part(4, 1));
/** More of them would keep each other from the processors. */
const AT_ONCE = 4;
const WORST_MS = 2000;
/** Only where the system tells which threads run. */
const hasThreadList = existsSync('/proc/thread-self');

const ENDS: readonly FleetEnd[] = [
  'terminated',
  'throwing',
  'exiting',
  'killed: out of memory',
  'idle',
];

/** Waits for one token after the other, until a wait fails. */
class Waiter {
  readonly spends: Spend[] = [];
  isOver = false;
  readonly told: Promise<unknown>;

  constructor(spender: FleetSpender) {
    this.told = this.#run(spender);
  }

  async #run(spender: FleetSpender): Promise<unknown> {
    while (!this.isOver) {
      const fromUs = systemClock.now();
      try {
        await spender.wait();
      } catch (error) {
        return (error as { code?: unknown }).code;
      }
      this.spends.push({ fromUs, toUs: systemClock.now(), tokens: 1 });
    }
    return undefined;
  }

  async more(count: number): Promise<void> {
    const enough = this.spends.length + count;
    while (this.spends.length < enough && !this.isOver) await sleep(1);
  }
}

/** The milliseconds from the owner's end until the waiters were served again, or rejected. */
async function outlive(end: FleetEnd, isSucceeded: boolean): Promise<number> {
  const owner = new Owner(end);
  const handle = await owner.handle();
  const source = sourceOn(owner.bucket);
  const spender = FleetSpender.attach(handle, isSucceeded ? { source } : {});
  const waiter = new Waiter(spender);
  await waiter.more(2 * STOCK);
  owner.end(end);
  await owner.ended;
  const endedUs = systemClock.now();
  // What was in stock is spent first, and is no sign of a buyer.
  if (isSucceeded) await waiter.more(3 * STOCK);
  else expect(await waiter.told).toBe('ERR_FLEET_CLOSED');
  const ms = (systemClock.now() - endedUs) / 1000;
  waiter.isOver = true;
  if (isSucceeded) expect(await waiter.told).toBeUndefined();
  else expect(spender.tryConsume()).toBe(false);
  expect(mostBeyondRate(waiter.spends, RATE)).toBeLessThanOrEqual(BURST + STOCK);
  return ms;
}

/** The worst of all owners, some of which end at the same time. */
async function worstOf(end: FleetEnd, isSucceeded: boolean): Promise<number> {
  let worstMs = 0;
  for (let done = 0; done < OWNERS; done += AT_ONCE) {
    const count = Math.min(AT_ONCE, OWNERS - done);
    const runs = Array.from({ length: count }, () => outlive(end, isSucceeded));
    worstMs = Math.max(worstMs, ...(await Promise.all(runs)));
  }
  return worstMs;
}

// docs/fleets.md: "If all of them have ended, closed their fleet buckets"
describe('a fleet bucket whose thread ends', () => {
  test.each([
    ['serves its waiters by another thread with a source', true],
    ['tells its waiters, if no thread has a source', false],
  ])('%s', async (_, isSucceeded) => {
    if (process.env['ZEROTIME_ENDS'] === undefined) {
      await Promise.all(ENDS.map((end) => worstOf(end, isSucceeded)));
      return;
    }
    // One after the other, as they are timed.
    const worst: number[] = [];
    for (const end of ENDS) worst.push(await worstOf(end, isSucceeded));
    const lines = ENDS.map((end, i) => `${end}: ${worst[i]?.toFixed(0)} ms`);
    console.log(`${isSucceeded ? 'served' : 'told'} after at most\n  ${lines.join('\n  ')}`);
    expect(Math.max(...worst)).toBeLessThan(WORST_MS);
  });
});

describe('a fleet bucket whose thread is blocked', () => {
  test('is taken over, and its thread buys no more when it continues', async () => {
    const owner = new Owner('blocked');
    const handle = await owner.handle();
    const source = sourceOn(owner.bucket);
    const asked: number[] = [];
    const spender = FleetSpender.attach(handle, {
      source: {
        ...source,
        consumeOrDrain: (n) => {
          asked.push(n);
          return source.consumeOrDrain(n);
        },
      },
    });
    owner.end('blocked');
    const waiter = new Waiter(spender);
    await waiter.more(5 * STOCK);
    expect(asked.length).toBeGreaterThan(0);
    Atomics.store(owner.gate, 0, 1);
    Atomics.notify(owner.gate, 0);
    await waiter.more(5 * STOCK);
    waiter.isOver = true;
    await waiter.told;
    expect(mostBeyondRate(waiter.spends, RATE)).toBeLessThanOrEqual(BURST + STOCK);
  });

  test.skipIf(!hasThreadList)('keeps its waiters, if nobody can take over', async () => {
    const owner = new Owner('blocked');
    const spender = FleetSpender.attach(await owner.handle());
    owner.end('blocked');
    const waiter = new Waiter(spender);
    const { told } = waiter;
    // Longer than it takes to give up an owner that has ended.
    const first = await Promise.race([told, sleep(WORST_MS, 'none')]);
    expect(first).toBe('none');
    Atomics.store(owner.gate, 0, 1);
    Atomics.notify(owner.gate, 0);
    await waiter.more(3 * STOCK);
    waiter.isOver = true;
    expect(await told).toBeUndefined();
  });
});
