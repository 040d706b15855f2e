import { getEventListeners } from 'node:events';
import { setImmediate } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import {
  allOf,
  FixedWindow,
  KeyedTokenBucket,
  LeakyBucket,
  type Limiter,
  LimitSet,
  ManualClock,
  Region,
  Semaphore,
  systemClock,
  TickerClock,
  TokenBucket,
} from '../../src/index.ts';
import { Crew } from '../support/crew.ts';

describe('allOf', () => {
  /** An empty bucket that delays the other. */
  function heldUp(rate: number) {
    const clock = ManualClock.create();
    const slow = TokenBucket.create({ rate, burst: 10, initial: 0, clock });
    const quick = TokenBucket.create({ rate: 100, burst: 10, initial: 0, clock });
    const both = allOf(quick, slow);
    const settle = async (ms: number) => {
      clock.set(ms);
      for (let turn = 0; turn < 5; turn++) await setImmediate();
    };
    return { clock, slow, quick, both, settle };
  }

  it('waits for the other part once a change has made that the slowest', async () => {
    const { slow, quick, both, clock, settle } = heldUp(1);
    const wait = both.wait(5).then(() => clock.nowMs);
    await settle(10);
    slow.reconfigure({ rate: Number.POSITIVE_INFINITY });
    await settle(10); // the fast one lacks 4
    quick.reconfigure({ rate: 50 });
    for (const ms of [50, 89, 90]) await settle(ms);
    expect(await wait).toBe(90);
  });

  it.each([
    ['a bucket', (clock: ManualClock) => TokenBucket.create({ rate: 1, burst: 10, clock })],
    ['a leaky bucket', (clock: ManualClock) => LeakyBucket.create({ rate: 1, slack: 9, clock })],
    [
      'a limit set',
      (clock: ManualClock) => LimitSet.create({ limits: [{ rate: 1, burst: 10 }], clock }),
    ],
  ])('ends when tokens come back to %s, and the others are there', async (_, create) => {
    const { clock, quick, settle } = heldUp(1);
    const slow = create(clock);
    slow.charge(slow.balance());
    const wait = allOf(quick, slow)
      .wait(5)
      .then(() => clock.nowMs);
    await settle(1000);
    slow.returnTokens(3); // it lacks 1
    await settle(1500);
    slow.settle(4, 2);
    for (const ms of [1500, 5000]) await settle(ms);
    expect(await wait).toBe(1500);
  });

  it.each([
    [
      'a cancelled reservation',
      (slow: TokenBucket) => {
        const reservation = slow.reserve(5);
        return () => reservation?.cancel();
      },
    ],
    [
      'an aborted wait',
      (slow: TokenBucket) => {
        const controller = new AbortController();
        slow.wait(5, { signal: controller.signal }).catch(() => undefined);
        return () => controller.abort();
      },
    ],
  ])('ends when the tokens of %s are back', async (_, reserve) => {
    const { clock, slow, both, settle } = heldUp(1);
    const giveUp = reserve(slow);
    const wait = both.wait(2).then(() => clock.nowMs);
    await settle(2000); // it would last until 7000
    giveUp();
    for (const ms of [2000, 7000]) await settle(ms);
    expect(await wait).toBe(2000);
  });

  it('fails at once when a change moves its end past its timeout, and leaves no listener behind', async () => {
    const { slow, both, settle } = heldUp(1);
    const { signal } = new AbortController();
    const wait = both.wait(1, { timeoutMs: 1000, signal });
    slow.reconfigure({ rate: 0.5 });
    await expect(wait).rejects.toMatchObject({ code: 'ERR_RATE_LIMIT_TIMEOUT' });
    expect(getEventListeners(signal, 'abort').length).toBe(0);
    await settle(2000);
    expect(slow.balance()).toBe(1);
  });

  it.each(['wait', 'waitSync'] as const)(
    '%s of another thread, which would last for years, ends when the rate goes up',
    async (call) => {
      const slow = TokenBucket.create({ rate: 1e-6, burst: 10, initial: 0 });
      const quick = TokenBucket.create({ rate: 1000, burst: 10 });
      const crew = await Crew.of('clocked', 'sleep', 1);
      const done = crew.run({ handle: quick.handle, also: slow.handle, call, waits: 2 });
      slow.reconfigure({ rate: 1e6 });
      await done;
      expect(slow.balance()).toBeLessThanOrEqual(10);
    },
  );

  it.each([
    [() => allOf(), 'allOf needs at least one limiter'],
    [() => allOf({} as Limiter), 'limiters[0] must be a limiter, got an object'],
    [
      () => {
        const keyed = KeyedTokenBucket.create({ rate: 1, burst: 1, capacity: 10 });
        return allOf(keyed.for('ann'), keyed as unknown as Limiter);
      },
      'limiters[1] must be the limiter of one key, such as keyed.for(key)',
    ],
    [
      () => {
        const clock = ManualClock.create();
        const bucket = { rate: 1, burst: 1 };
        return allOf(TokenBucket.create({ ...bucket, clock }), TokenBucket.create(bucket));
      },
      'all limiters must have the same clock, got manual and system',
    ],
    [
      () => {
        const one = TokenBucket.create({ rate: 1, burst: 1, clock: ManualClock.create() });
        return allOf(one, TokenBucket.create({ rate: 1, burst: 1, clock: ManualClock.create() }));
      },
      'all limiters must have the same clock, got two manual clocks',
    ],
    [
      () => {
        const region = Region.create();
        const [one, two] = ['one', 'two'].map((name) => ManualClock.open(region, name));
        const limit = { rate: 1, burst: 1 };
        const first = TokenBucket.create({ ...limit, clock: one as ManualClock });
        return allOf(first, TokenBucket.create({ ...limit, clock: two as ManualClock }));
      },
      'all limiters must have the same clock, got two manual clocks',
    ],
    [
      () => {
        const semaphore = Semaphore.create({ permits: 1, clock: ManualClock.create() });
        const clock = ManualClock.create();
        return allOf(semaphore, TokenBucket.create({ rate: 1, burst: 1, clock }));
      },
      'all limiters must have the same clock, got two manual clocks',
    ],
  ])('names what is wrong with its limiters', (make, message) => {
    expect(make).toThrow(new TypeError(message));
  });

  it('knows one clock behind several objects', async () => {
    const copied = (limiter: TokenBucket) => TokenBucket.attach(structuredClone(limiter.handle));
    const ticker = await TickerClock.create();
    const region = Region.create();
    const clocks = [ManualClock.create(), ManualClock.open(region, 'clock'), ticker, systemClock];
    for (const clock of clocks) {
      const bucket = TokenBucket.create({ rate: 1, burst: 5, clock, region });
      expect(copied(bucket).clock === clock).toBe(clock === systemClock);
      expect(allOf(bucket, copied(bucket), copied(bucket)).tryConsume()).toBe(true);
    }
    ticker.dispose();
  });

  it('waits while a window admits nothing', async () => {
    const clock = ManualClock.create();
    const window = FixedWindow.create({ limit: 1, intervalMs: 1000, clock });
    const both = allOf(TokenBucket.create({ rate: 10, burst: 10, clock }), window);
    window.reconfigure({ limit: 0 });
    const wait = both.wait();
    await setImmediate();
    expect([clock.nextMs(), clock.advanceToNext()]).toEqual([Infinity, false]);
    window.reconfigure({ limit: 1 });
    await wait;
    expect(window.available()).toBe(0);
  });
});
