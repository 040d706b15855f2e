import { getEventListeners } from 'node:events';
import { describe, expect, test, vi } from 'vitest';
import { RateLimitError } from '../../../src/index.ts';
import { Stock } from '../../../src/integrations/redis/fleet/stock.ts';
import { until } from '../../support/settled.ts';
import { CLOSED, fleetOf, settle } from './fleet-source.ts';

/** A process on an empty source. */
async function starved(limit = { rate: 1000, burst: 1000, initial: 0 }) {
  return { ...(await fleetOf({ stock: 100 }, limit)), outcomes: new Outcomes() };
}

/** The outcomes of waits, in order of completion. */
class Outcomes {
  readonly list: string[] = [];

  watch(name: string, wait: Promise<unknown>): void {
    wait.then(
      () => this.list.push(name),
      (reason: unknown) =>
        this.list.push(`${name}: ${reason instanceof RateLimitError ? reason.code : reason}`),
    );
  }
}

describe('waiting for tokens of a fleet bucket', () => {
  // docs/fleets.md: "Waiting callers of all threads are served"
  test('serves waits in order, and before later callers', async () => {
    const { fleet, process, outcomes } = await starved();
    outcomes.watch('ten', process.wait(10));
    outcomes.watch('one', process.wait());
    await fleet.pass(8);
    await fleet.pass(12);
    await until(() => outcomes.list.length === 2, 'both');
    expect(outcomes.list).toEqual(['ten', 'one']);
    expect(process.tryConsume(100)).toBe(false);
  });

  test('lets no call overtake a large request', async () => {
    const { fleet, process, outcomes } = await starved({ rate: 1000, burst: 10, initial: 0 });
    outcomes.watch('fifty', process.wait(50));
    let taken = 0;
    const isServed = () => {
      if (process.tryConsume()) taken++;
      return outcomes.list.length > 0;
    };
    await fleet.passUntil(isServed, 199, 1);
    expect(taken).toBe(0);
  });

  test('spends exactly the tokens bought', async () => {
    const { fleet, process, outcomes } = await starved();
    for (let i = 0; i < 300; i++) outcomes.watch('', process.wait(1 + (i % 3)));
    await fleet.passUntil(() => outcomes.list.length === 300, 1199, 1);
    const { bought } = process.stats();
    expect(bought - process.available()).toBe(600);
    await process.close();
    expect(fleet.source.bucket.available()).toBe(fleet.clock.nowMs - 600);
  });

  test('passes the tokens of a timed-out wait to those behind it', async () => {
    const { fleet, process, outcomes } = await starved();
    fleet.source.isDown = true;
    outcomes.watch('first', process.wait(10, { timeoutMs: 50 }));
    outcomes.watch('second', process.wait(10));
    await fleet.pass(49);
    expect(outcomes.list).toEqual([]);
    await fleet.pass(1);
    expect(outcomes.list).toEqual(['first: ERR_RATE_LIMIT_TIMEOUT']);
    fleet.source.isDown = false;
    await fleet.passUntil(() => outcomes.list.length === 2, 1999, 10);
    const { bought } = process.stats();
    await settle();
    expect(bought - process.available()).toBe(10);
    await process.close();
    expect(fleet.source.bucket.available()).toBe(fleet.clock.nowMs - 10);
  });

  test('gets each token at once, however many of those between have timed out', async () => {
    const { fleet, process } = await starved();
    fleet.source.isDown = true;
    let served = 0;
    const count = () => {
      served++;
    };
    const ended: Promise<unknown>[] = [];
    for (let i = 0; i < 10; i++) {
      ended.push(process.wait(1).then(count));
      ended.push(process.wait(1, { timeoutMs: 50 }).catch(() => undefined));
    }
    ended.push(process.wait(1).then(count));
    await fleet.pass(50);
    for (let tokens = 1; tokens <= 11; tokens++) {
      expect(served).toBe(tokens - 1);
      process.returnTokens(1);
      await settle();
      expect(served).toBe(tokens);
    }
    await Promise.all(ended);
    expect(process.available()).toBe(0);
  });

  test('shares what was bought for a large wait among those behind it once it is aborted', async () => {
    const { process, outcomes } = await starved({ rate: 1e-5, burst: 100, initial: 0 });
    const abort = new AbortController();
    outcomes.watch('large', process.wait(50, { signal: abort.signal }));
    for (const name of ['first', 'second']) outcomes.watch(name, process.wait(10));
    process.returnTokens(25);
    await settle();
    expect(outcomes.list).toEqual([]);
    abort.abort('enough');
    await settle();
    expect(outcomes.list).toEqual(['large: enough', 'first', 'second']);
    expect(process.available()).toBe(5);
  });

  test('is not served with what callers in front still need when one of those is aborted', async () => {
    const { process, outcomes } = await starved({ rate: 1e-5, burst: 100, initial: 0 });
    const abort = new AbortController();
    outcomes.watch('large', process.wait(50));
    outcomes.watch('next', process.wait(30, { signal: abort.signal }));
    outcomes.watch('last', process.wait(1));
    abort.abort('enough');
    process.returnTokens(49);
    await settle();
    expect(outcomes.list).toEqual(['next: enough']);
    process.returnTokens(1);
    await settle();
    expect(outcomes.list).toEqual(['next: enough', 'large']);
    process.returnTokens(1);
    await settle();
    expect(outcomes.list).toEqual(['next: enough', 'large', 'last']);
    expect(process.available()).toBe(0);
  });

  test('takes its tokens when they are delivered, even if its thread is stopped', async () => {
    const { fleet, process } = await fleetOf({ stock: 10 }, { rate: 1e-5, burst: 1000 });
    // As a thread does that runs no further.
    const stopped = Stock.open(process.handle);
    const waits = Array.from({ length: 5 }, () => stopped.reserve(10));
    await fleet.passUntil(() => stopped.balance >= 0, 1000);
    expect(process.stats().bought).toBe(50 + process.available());
    expect(process.consumeOrDrain(50)).toBeLessThanOrEqual(10);
    await Promise.all(waits.map((wait) => stopped.arrival(wait, {})));
  });

  test('returns what was bought for it when the bucket is closed', async () => {
    const { source, process, fleet } = await fleetOf({ stock: 100 }, { rate: 1e-5, burst: 25 });
    const told = [30, 0.5, 20].map((n) => expect(process.wait(n)).rejects.toMatchObject(CLOSED));
    await fleet.passUntil(() => process.stats().bought === 25, 1000);
    await process.close();
    await Promise.all(told);
    expect(source.returned).toEqual([25]);
  });

  test('ends with the reason of an abort, and loses no token', async () => {
    const { fleet, process, outcomes } = await starved();
    const aborts = Array.from({ length: 5 }, () => new AbortController());
    for (const [i, { signal }] of aborts.entries()) {
      outcomes.watch(`wait ${i}`, process.wait(4, { signal }));
    }
    for (const i of [1, 4, 2]) aborts[i]?.abort(`enough of ${i}`);
    await settle();
    expect(outcomes.list).toEqual([1, 4, 2].map((i) => `wait ${i}: enough of ${i}`));
    for (let ms = 0; ms < 60; ms++) await fleet.pass(1);
    expect(outcomes.list.slice(3)).toEqual(['wait 0', 'wait 3']);
    expect(process.stats().bought - process.available()).toBe(8);
    await process.close();
    expect(fleet.source.bucket.available()).toBe(fleet.clock.nowMs - 8);
  });

  test('leaves no listener on its signal if the clock throws', async () => {
    const { process } = await starved();
    const { signal } = new AbortController();
    vi.spyOn(process.clock, 'now')
      .mockReturnValueOnce(process.clock.now())
      .mockImplementationOnce(() => {
        throw new Error('no clock');
      });
    await expect(process.wait(1, { signal })).rejects.toThrow('no clock');
    expect(getEventListeners(signal, 'abort')).toEqual([]);
    expect(process.waiting).toBe(0);
    process.returnTokens(1);
    expect(process.tryConsume()).toBe(true);
  });

  test('takes nothing with a signal that is already aborted', async () => {
    const { process } = await starved();
    await expect(process.wait(1, { signal: AbortSignal.abort('no') })).rejects.toBe('no');
    process.returnTokens(1);
    expect(process.available()).toBe(1);
  });

  test('rejects a request larger than the stock at once', async () => {
    const { process } = await starved();
    await expect(process.wait(101)).rejects.toMatchObject({ code: 'ERR_EXCEEDS_BURST' });
    expect(process.tryConsume(101)).toBe(false);
  });

  test('rejects all waits when the bucket is closed', async () => {
    const { process, outcomes } = await starved();
    const abort = new AbortController();
    outcomes.watch('first', process.wait(10, { signal: abort.signal }));
    outcomes.watch('second', process.wait(1));
    abort.abort('enough');
    await process.close();
    await until(() => outcomes.list.length === 2, 'both');
    expect(outcomes.list).toEqual(['first: enough', 'second: ERR_FLEET_CLOSED']);
    expect(process.tryConsume()).toBe(false);
  });

  test('splits whole tokens among waits for fractions', async () => {
    const { fleet, process, outcomes } = await starved();
    for (let i = 0; i < 10; i++) outcomes.watch('tenth', process.wait(0.1));
    await fleet.passUntil(() => outcomes.list.length === 10, 99, 1);
  });

  test('adds up returned fractions for a waiting call', async () => {
    const { process, outcomes } = await starved();
    outcomes.watch('one', process.wait(1));
    // In doubles, their sum is less than 1.
    for (let i = 0; i < 10; i++) process.returnTokens(0.1);
    await until(() => outcomes.list.length === 1, 'the wait');
    expect(process.available()).toBe(0);
  });

  test('withdraws the request of the last wait when it ends', async () => {
    const { process } = await starved();
    const abort = new AbortController();
    const wait = process.wait(50, { signal: abort.signal });
    abort.abort('enough');
    await expect(wait).rejects.toBe('enough');
    process.returnTokens(1);
    expect(process.tryConsume()).toBe(true);
  });
});
