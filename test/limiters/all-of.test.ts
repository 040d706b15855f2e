import { getEventListeners } from 'node:events';
import { setImmediate } from 'node:timers/promises';
import { describe, expect, it, vi } from 'vitest';
import {
  allOf,
  attach,
  FixedWindow,
  LeakyBucket,
  type Limiter,
  type LimiterHandle,
  ManualClock,
  per,
  RateLimitError,
  type Reservation,
  SlidingLog,
  SlidingWindow,
  TokenBucket,
} from '../../src/index.ts';
import { KeyedTokenBucket } from '../../src/keyed.ts';
import type { Part } from '../../src/limiters/part.ts';
import { Crew } from '../support/crew.ts';
import { Gate } from '../support/gate.ts';
import { settled } from '../support/settled.ts';
import type { SleepJob, Slept } from '../workers/sleeper.ts';

function perSecondAndMinute() {
  const clock = ManualClock.create();
  const perSecond = TokenBucket.create({ rate: 10, burst: 10, clock });
  const perMinute = TokenBucket.create({ rate: per(100, 'minute'), burst: 100, clock });
  return { clock, perSecond, perMinute, both: allOf(perMinute, perSecond) };
}

/** A limiter, some of whose methods behave differently. */
function altered<T extends Part>(limiter: T, changes: Partial<Part>): Limiter {
  return new Proxy<Part>(limiter, {
    get(target, name) {
      if (Object.hasOwn(changes, name)) return Reflect.get(changes, name);
      const value: unknown = Reflect.get(target, name);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}

/** As if another thread took all tokens just before each take, and returned them just after it. */
function alwaysLate(limiter: Part, meanwhile = () => {}): Limiter {
  return altered(limiter, {
    identity: undefined,
    timeUntil: () => 0,
    takeAt() {
      meanwhile();
      return false;
    },
  });
}

describe('allOf', () => {
  it('costs the first nothing when the second refuses, a thousand times over', () => {
    const { clock, perSecond, perMinute, both } = perSecondAndMinute();
    expect(perSecond.tryConsume(10)).toBe(true);
    for (let i = 0; i < 1000; i++) expect(both.tryConsume()).toBe(false);
    expect(perMinute.balance()).toBe(100);
    clock.advance(100);
    expect(both.tryConsume()).toBe(true);
    expect(perMinute.balance()).toBe(99);
  });

  it('keeps the tighter limit in every interval: 10 a second, 100 in the first minute', () => {
    const { clock, both } = perSecondAndMinute();
    const admitted: number[] = [];
    for (let second = 0; second < 60; second++) {
      let count = 0;
      while (both.tryConsume()) count++;
      admitted.push(count);
      clock.advance(1000);
    }
    expect(admitted.slice(0, 10)).toEqual(Array(10).fill(10));
    // 100 and what flowed in over 59 seconds at 100 a minute.
    expect(admitted.reduce((sum, n) => sum + n)).toBe(100 + Math.floor((59 * 100) / 60));
  });

  it.each([0, 1, 2])('returns what it took when part %i loses a race', (place) => {
    const clock = ManualClock.create();
    const buckets = [1, 2, 3].map(() => TokenBucket.create({ rate: 1, burst: 5, clock }));
    const parts = buckets.map((bucket, i) => (i === place ? alwaysLate(bucket) : bucket));
    const all = allOf(...parts);
    for (let i = 0; i < 3; i++) expect(all.tryConsume(3)).toBe(false);
    expect(buckets.map((bucket) => bucket.balance())).toEqual([5, 5, 5]);
  });

  it('returns tokens of a bucket from which others have taken since', () => {
    const clock = ManualClock.create();
    const bucket = TokenBucket.create({ rate: 1, burst: 5, clock });
    const other = TokenBucket.create({ rate: 1, burst: 5, clock });
    const late = alwaysLate(other, () => bucket.tryConsume());
    expect(allOf(bucket, late).tryConsume(3)).toBe(false);
    expect(bucket.balance()).toBe(4);
  });

  it.each([FixedWindow, SlidingWindow])('returns the tokens of a window', (Window) => {
    const clock = ManualClock.create();
    const window = Window.create({ limit: 5, intervalMs: 1000, clock });
    const late = alwaysLate(Window.create({ limit: 5, intervalMs: 1000, clock }));
    const bucket = TokenBucket.create({ rate: 1, burst: 5, clock });
    expect(allOf(window, late, bucket).tryConsume(3)).toBe(false);
    expect(window.available()).toBe(5);
    expect(bucket.available()).toBe(5);
  });

  it.each([FixedWindow, SlidingWindow])(
    'lowers the count of a window that others used',
    (Window) => {
      const clock = ManualClock.create();
      const window = Window.create({ limit: 5, intervalMs: 1000, clock });
      const late = alwaysLate(Window.create({ limit: 5, intervalMs: 1000, clock }), () => {
        attach(structuredClone(window.handle as LimiterHandle<'fixed-window'>)).tryConsume();
      });
      expect(allOf(window, late).tryConsume(3)).toBe(false);
      expect(window.available()).toBe(4);
    },
  );

  it('waits while a part is paused, and fails for more than it can ever grant', async () => {
    const clock = ManualClock.create();
    const bucket = TokenBucket.create({ rate: 0, burst: 2, initial: 0, clock });
    const window = FixedWindow.create({ limit: 0, intervalMs: 1000, clock });
    const both = allOf(bucket, window);
    const wait = both.wait(2);
    await expect(both.wait(2, { timeoutMs: 1e9 })).rejects.toMatchObject({
      code: 'ERR_RATE_LIMIT_TIMEOUT',
    });
    await expect(both.wait(3)).rejects.toMatchObject({ code: 'ERR_EXCEEDS_BURST' });
    bucket.reconfigure({ rate: 1000 });
    await settled();
    window.reconfigure({ limit: 5 });
    await settled();
    clock.advance(1000);
    expect(await wait).toEqual({ waitedMs: 1000 });
  });

  it('takes from windows after buckets, and from logs last', () => {
    const clock = ManualClock.create();
    const wide = { limit: 5, intervalMs: 1000, clock };
    const order: string[] = [];
    const noted = (name: string, part: Part) =>
      altered(part, {
        takeAt(nowUs, n) {
          order.push(name);
          return part.takeAt(nowUs, n);
        },
      });
    const all = allOf(
      noted('log', SlidingLog.create(wide)),
      noted('sliding', SlidingWindow.create(wide)),
      noted('fixed', FixedWindow.create(wide)),
      noted('bucket', TokenBucket.create({ rate: 1, burst: 5, clock })),
      noted('pace', LeakyBucket.create({ rate: 1, clock })),
    );
    expect(all.tryConsume()).toBe(true);
    expect(order).toEqual(['bucket', 'pace', 'sliding', 'fixed', 'log']);
  });

  it('takes nothing from a window when it can foresee that a log refuses', () => {
    const clock = ManualClock.create();
    const log = SlidingLog.create({ limit: 1, intervalMs: 1000, clock });
    const window = FixedWindow.create({ limit: 5, intervalMs: 1000, clock });
    const untouched = altered(window, {
      takeAt() {
        throw new Error('taken');
      },
    });
    log.tryConsume();
    const all = allOf(log, untouched);
    for (let i = 0; i < 2; i++) expect(all.tryConsume()).toBe(false);
  });

  it('asks the part that refused last first, until it grants', () => {
    const clock = ManualClock.create();
    const quick = TokenBucket.create({ rate: 1e6, burst: 100, clock });
    const bucket = TokenBucket.create({ rate: 1, burst: 1, clock });
    const log = SlidingLog.create({ limit: 1, intervalMs: 2000, clock });
    const takes = { quick: 0, bucket: 0, log: 0 };
    const counted = (name: keyof typeof takes, part: Part) =>
      altered(part, {
        takeAt(nowUs, n) {
          takes[name]++;
          return part.takeAt(nowUs, n);
        },
      });
    const all = allOf(counted('quick', quick), counted('bucket', bucket), counted('log', log));
    expect(all.tryConsume()).toBe(true);
    for (let i = 0; i < 10; i++) expect(all.tryConsume()).toBe(false);
    // Once in the old order, then only the bucket that refuses.
    expect(takes).toEqual({ quick: 2, bucket: 11, log: 1 });
    clock.advance(1000);
    for (let i = 0; i < 10; i++) expect(all.tryConsume()).toBe(false);
    expect(takes).toEqual({ quick: 3, bucket: 12, log: 2 });
    expect([quick.available(), bucket.available()]).toEqual([100, 1]);
    clock.advance(1000);
    expect(all.tryConsume()).toBe(true);
    expect(all.tryConsume()).toBe(false);
    expect(takes).toEqual({ quick: 4, bucket: 14, log: 3 });
  });

  it('grants nothing at any time, and takes nothing for it', () => {
    const clock = ManualClock.create();
    const bucket = TokenBucket.create({ rate: 1, burst: 1, clock });
    for (let i = 0; i < 3; i++) bucket.acquire();
    const all = allOf(bucket, alwaysLate(TokenBucket.create({ rate: 1, burst: 1, clock })));
    expect(all.tryConsume(0)).toBe(true);
    expect(all.decide(0)).toMatchObject({ allowed: true, retryAfterMs: 0 });
    expect(all.waitSync(0)).toBe(true);
    expect(bucket.balance()).toBe(-2);
  });

  it('returns tokens of a bucket in debt, and moves those up who wait behind them', () => {
    const clock = ManualClock.create();
    const first = TokenBucket.create({ rate: 1, burst: 5, clock });
    const other = TokenBucket.create({ rate: 1, burst: 5, clock });
    const reserved: (Reservation | undefined)[] = [];
    const late = alwaysLate(other, () => reserved.push(first.reserve(5)));
    expect(allOf(first, late).tryConsume(3)).toBe(false);
    expect(first.balance()).toBe(5 - 5);
    expect(reserved.map((reservation) => reservation?.dueUs)).toEqual([0]);
  });

  it('loses tokens of a key on which a reservation depends, rather than admit too much', () => {
    const clock = ManualClock.create();
    const table = KeyedTokenBucket.create({ rate: 1, burst: 5, capacity: 9, clock });
    const first = table.for('ann');
    const late = alwaysLate(table.for('bob'), () => first.reserve(4));
    expect(allOf(first, late).tryConsume(3)).toBe(false);
    expect(first.balance()).toBe(5 - 3 - 4);
  });

  it('lets tokens lapse that cannot be returned at the moment', () => {
    const clock = ManualClock.create();
    const first = TokenBucket.create({ rate: 1, burst: 5, clock });
    vi.spyOn(first, 'returnTokens').mockImplementation(() => {
      throw new RateLimitError('ERR_RECONFIGURE_BUSY', 'busy');
    });
    const late = alwaysLate(TokenBucket.create({ rate: 1, burst: 5, clock }));
    expect(allOf(first, late).tryConsume(3)).toBe(false);
    expect(first.balance()).toBe(2);
  });

  it('waits for the slowest part', async () => {
    const clock = ManualClock.create();
    const quick = TokenBucket.create({ rate: 10, burst: 1, clock, initial: 0 });
    const slow = LeakyBucket.create({ rate: 2, clock });
    slow.tryConsume();
    const both = allOf(quick, slow);
    expect(both.timeUntil(1)).toBe(500);
    const wait = both.wait(1, { timeoutMs: 500 });
    clock.advance(500);
    await wait;
    expect(quick.balance()).toBe(0);
    expect(slow.balance()).toBe(0);
    expect(both.waitSync(1, { timeoutMs: 499 })).toBe(false);
  });

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

  it('wakes at its new instant when the limit of the slowest part changes', async () => {
    const { slow, both, clock, settle } = heldUp(1);
    let endedMs: number | undefined;
    const wait = both.wait(2).then(() => {
      endedMs = clock.nowMs;
    });
    await settle(1000); // one token is missing
    slow.reconfigure({ rate: 10 });
    await settle(1000);
    slow.reconfigure({ rate: 4 });
    for (const ms of [1100, 1249]) await settle(ms);
    expect(endedMs).toBeUndefined();
    await settle(1250);
    expect(endedMs).toBe(1250);
    await wait;
    expect(slow.balance()).toBe(0);
  });

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
      const crew = await Crew.start<SleepJob, Slept>('sleeper', 1);
      const job = { handle: quick.handle, also: slow.handle, call, waits: 2 };
      const done = crew.run({ ...job, ended: new Gate().buffer });
      slow.reconfigure({ rate: 1e6 });
      await done;
      expect(slow.balance()).toBeLessThanOrEqual(10);
    },
  );

  it('nests, and reports the tightest part', () => {
    const { clock, both } = perSecondAndMinute();
    const nested = allOf(both, LeakyBucket.create({ rate: 100, clock }));
    expect(nested.decide()).toEqual({
      allowed: true,
      limit: 1,
      remaining: 0,
      retryAfterMs: 0,
      resetMs: 600,
    });
    expect(nested.decide()).toMatchObject({ allowed: false, retryAfterMs: 10 });
  });

  describe('of the same limiter, given more than once', () => {
    const clock = ManualClock.create();
    const shared = { clock, kernel: 'wasm' } as const;
    const wide = { limit: 7, intervalMs: 1000, ...shared };

    it.each<[string, () => Limiter[]]>([
      ['a bucket', () => Array(3).fill(TokenBucket.create({ rate: 1, burst: 7, ...shared }))],
      [
        'attachments',
        () => {
          const bucket = TokenBucket.create({ rate: 1, burst: 7, ...shared });
          const again = () => TokenBucket.attach(structuredClone(bucket.handle));
          return [bucket, TokenBucket.attach(bucket.handle), again()];
        },
      ],
      [
        'a nested combination',
        () => {
          const window = SlidingWindow.create(wide);
          return [allOf(window, SlidingWindow.attach(structuredClone(window.handle))), window];
        },
      ],
      ['a log', () => Array(3).fill(SlidingLog.create(wide))],
      [
        'a key',
        () => {
          const table = KeyedTokenBucket.create({ rate: 1, burst: 7, capacity: 9, ...shared });
          const other = KeyedTokenBucket.attach(structuredClone(table.handle));
          return [table.for('ann'), table.for('ann'), other.for('ann')];
        },
      ],
    ])('asks for the sum: %s', async (_, make) => {
      const parts = make();
      const all = allOf(...parts, TokenBucket.create({ rate: 1000, burst: 100, ...shared }));
      const last = parts.at(-1);
      const floor = Math.floor(all.limit);
      expect([floor, Math.floor(all.available())]).toEqual([2, 2]);
      expect(all.timeUntil(3)).toBe(Number.POSITIVE_INFINITY);
      expect(all.tryConsume(3)).toBe(false);
      await expect(all.wait(3)).rejects.toMatchObject({ code: 'ERR_EXCEEDS_BURST' });
      expect(() => all.waitSync(3)).toThrow(/more than can ever be granted/);
      expect(last?.available()).toBe(7);
      expect(all.tryConsume()).toBe(true);
      expect(last?.available()).toBe(4);
      expect(all.tryConsume()).toBe(true);
      expect(all.tryConsume()).toBe(false);
      expect(last?.available()).toBe(1);
    });

    it('is not confused with others of the same kind, and the same key of another table', () => {
      const limit = { rate: 1, burst: 5, capacity: 9, ...shared };
      const [table, other] = [KeyedTokenBucket.create(limit), KeyedTokenBucket.create(limit)];
      const parts = [table.for('ann'), table.for('bob'), other.for('ann')];
      expect(allOf(...parts).tryConsume(5)).toBe(true);
    });
  });

  it.each([
    [() => allOf(), 'allOf needs at least one limiter'],
    [() => allOf({} as Limiter), 'limiters[0] must be a limiter, got an object'],
    [
      () => {
        const clock = ManualClock.create();
        const bucket = { rate: 1, burst: 1 };
        return allOf(TokenBucket.create({ ...bucket, clock }), TokenBucket.create(bucket));
      },
      'all limiters must have the same clock, got manual and system',
    ],
  ])('names what is wrong with its limiters', (make, message) => {
    expect(make).toThrow(new TypeError(message));
  });

  it('waits while a part is paused, and goes on when it is not', async () => {
    const { clock, perSecond, perMinute, both } = perSecondAndMinute();
    perSecond.tryConsume(10);
    perSecond.reconfigure({ rate: 0 });
    perMinute.reconfigure({ rate: 0 });
    expect(both.waitSync(1, { timeoutMs: 1e9 })).toBe(false);
    const wait = both.wait();
    perSecond.reconfigure({ rate: 10 });
    await setImmediate();
    clock.advance(100);
    await wait;
    expect(perMinute.balance()).toBe(99);
    await expect(both.wait(11)).rejects.toMatchObject({ code: 'ERR_EXCEEDS_BURST' });
  });

  it('waits while a window admits nothing', async () => {
    const clock = ManualClock.create();
    const window = FixedWindow.create({ limit: 1, intervalMs: 1000, clock });
    const both = allOf(TokenBucket.create({ rate: 10, burst: 10, clock }), window);
    window.reconfigure({ limit: 0 });
    const wait = both.wait();
    await setImmediate();
    window.reconfigure({ limit: 1 });
    await wait;
    expect(window.available()).toBe(0);
  });
});
