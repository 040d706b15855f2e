import { describe, expect, it, vi } from 'vitest';
import {
  allOf,
  attach,
  BucketCalls,
  FixedWindow,
  LeakyBucket,
  type Limiter,
  type LimiterHandle,
  LimitSet,
  ManualClock,
  RateLimitError,
  type Reservation,
  SlidingLog,
  SlidingWindow,
  TokenBucket,
} from '../../src/index.ts';
import { KeyedFixedWindow, KeyedLimitSet, KeyedTokenBucket } from '../../src/keyed.ts';
import type { Part } from '../../src/limiters/limiter.ts';
import { altered, perSecondAndMinute } from '../support/altered-part.ts';
import { settled } from '../support/settled.ts';

/** As if another thread took all tokens just before each take, and returned them just after it. */
function alwaysLate(limiter: Part, meanwhile = () => {}): Limiter {
  return altered(limiter, {
    at: { identity: crypto.randomUUID() },
    timeUntil: () => 0,
    take() {
      meanwhile();
      return false;
    },
  });
}

describe('allOf', () => {
  it.each([0, 1, 2])('returns what it took when part %i loses a race', (place) => {
    const clock = ManualClock.create();
    const buckets = [1, 2, 3].map(() => TokenBucket.create({ rate: 1, burst: 5, clock }));
    const parts = buckets.map((bucket, i) => (i === place ? alwaysLate(bucket) : bucket));
    const all = allOf(...parts);
    for (let i = 0; i < 3; i++) expect(all.tryConsume(5)).toBe(false);
    expect(buckets.map((bucket) => bucket.balance())).toEqual([5, 5, 5]);
  });

  it('decides with an unlimited part, which is always full', () => {
    const clock = ManualClock.create();
    const unlimited = TokenBucket.create({ rate: Number.POSITIVE_INFINITY, burst: 1, clock });
    const endless = { rate: Number.POSITIVE_INFINITY, burst: Number.POSITIVE_INFINITY };
    const window = FixedWindow.create({ limit: 5, intervalMs: 1000, clock });
    const state = { retryAfterMs: 0, resetMs: 1000, nextTokenMs: 1000 };
    const all = allOf(TokenBucket.create({ ...endless, clock }), window);
    expect(all.decide()).toEqual({ allowed: true, limit: 5, remaining: 4, ...state });
    expect(allOf(TokenBucket.create({ ...endless, clock })).decide()).toEqual({
      ...{ allowed: true, limit: Number.POSITIVE_INFINITY, remaining: Number.POSITIVE_INFINITY },
      ...{ retryAfterMs: 0, resetMs: 0, nextTokenMs: Number.POSITIVE_INFINITY },
    });
    expect(allOf(unlimited, window).decide(0)).toMatchObject({ allowed: true, resetMs: 1000 });
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
    expect(both.waitSync(1, { timeoutMs: 1e9 })).toBe(false);
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
        take(n, nowUs) {
          order.push(name);
          return part.take(n, nowUs);
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
      take() {
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
        take(n, nowUs) {
          takes[name]++;
          return part.take(n, nowUs);
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

  it('reads the clock once for all buckets, which may take parts of a token', () => {
    const clock = ManualClock.create();
    const bucket = () => TokenBucket.create({ rate: 1, burst: 5, clock });
    const all = allOf(bucket(), bucket(), bucket());
    const reads = vi.spyOn(clock, 'now');
    expect(all.tryConsume(0.5)).toBe(true);
    expect(reads).toHaveBeenCalledTimes(1);
    expect(() => all.tryConsume(-1)).toThrow(/^n must be a number at least 0/);
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

  it('returns tokens of a key, and of the current window of one', () => {
    const clock = ManualClock.create();
    const shared = { capacity: 9, clock };
    const parts = [
      KeyedTokenBucket.create({ rate: 1, burst: 5, ...shared }).for('ann'),
      KeyedFixedWindow.create({ limit: 5, intervalMs: 100, ...shared }).for('ann'),
    ];
    expect(() => allOf(...parts).tryConsume(0.5)).toThrow('n must be an integer');
    const all = allOf(
      ...parts,
      alwaysLate(FixedWindow.create({ limit: 5, intervalMs: 100, clock })),
    );
    expect(all.tryConsume(3)).toBe(false);
    expect(parts.map((one) => one.available())).toEqual([5, 5]);
  });

  it.each(['wasm', 'atomics'] as const)(
    'takes nothing of a fraction that a part refuses, with kernel %s',
    (kernel) => {
      const clock = ManualClock.create();
      const limit = { rate: 10, burst: 3, clock, kernel };
      const limits = [limit, { rate: 1, burst: 9 }].map(({ rate, burst }) => ({ rate, burst }));
      const parts = [
        TokenBucket.create(limit),
        TokenBucket.create({ quantum: 3, fillIntervalMs: 11, burst: 3, clock, kernel }),
        LimitSet.create({ limits, clock, kernel }),
        KeyedTokenBucket.create({ ...limit, capacity: 9 }).for('ann'),
        KeyedLimitSet.create({ limits, capacity: 9, clock, kernel }).for('ann'),
      ];
      const empty = TokenBucket.create({ rate: 1, burst: 1, initial: 0, clock });
      expect(allOf(...parts, empty).tryConsume(1 / 7)).toBe(false);
      expect(parts.map((one) => one.consumeOrDrain(3))).toEqual([3, 3, 3, 3, 3]);
    },
  );

  it('shows its parts in logs, and how many times each is given', () => {
    const bucket = TokenBucket.create({ rate: 1, burst: 5, clock: ManualClock.create() });
    expect(`${allOf(bucket)}`).toBe(`allOf { 0: ${bucket} }`);
    const twice = allOf(bucket, bucket);
    expect(`${twice}`).toBe(`allOf { 0: 2 x ${bucket} }`);
    expect([twice.available(), twice.limit]).toEqual([2.5, 2.5]);
  });

  it('loses tokens of a key on which a reservation depends, rather than admit too much', () => {
    const clock = ManualClock.create();
    const table = KeyedTokenBucket.create({ rate: 1, burst: 5, capacity: 9, clock });
    const first = table.for('ann');
    const late = alwaysLate(table.for('bob'), () => first.reserve(4));
    expect(allOf(first, late).tryConsume(3)).toBe(false);
    expect(first.balance()).toBe(5 - 3 - 4);
  });

  it.each<[string, Partial<Part>]>([
    ['a bucket', { takeback: 'any' }],
    ['a window', { takeback: 'current' }],
    ['a log', { takeback: 'none' }],
  ])('returns what it took if a later part, like %s, throws', (_, changes) => {
    const clock = ManualClock.create();
    const bucket = () => TokenBucket.create({ rate: 1, burst: 5, clock });
    const window = FixedWindow.create({ limit: 5, intervalMs: 1000, clock });
    const broken = altered(bucket(), {
      ...changes,
      take() {
        throw new Error('broken');
      },
    });
    const [first, second] = [bucket(), bucket()];
    const all = allOf(first, second, window, broken);
    expect(() => all.tryConsume(3)).toThrow('broken');
    expect([first, second, window].map((part) => part.available())).toEqual([5, 5, 5]);
  });

  // docs/guide.md: "With two windows or logs, tokens may therefore lapse"
  it('lets tokens lapse that cannot be returned at the moment', () => {
    const clock = ManualClock.create();
    const first = TokenBucket.create({ rate: 1, burst: 5, clock });
    const putBack = vi.spyOn(BucketCalls.prototype, 'returnTokens').mockImplementation(() => {
      throw new RateLimitError('ERR_RECONFIGURE_BUSY', 'busy');
    });
    const late = alwaysLate(TokenBucket.create({ rate: 1, burst: 5, clock }));
    expect(allOf(first, late).tryConsume(3)).toBe(false);
    expect(first.balance()).toBe(2);
    putBack.mockImplementation(() => {
      throw new TypeError('a mistake');
    });
    expect(() => allOf(first, late).tryConsume(1)).toThrow('a mistake');
    putBack.mockRestore();
  });

  it('nests, and reports the tightest part', () => {
    const { clock, both } = perSecondAndMinute();
    const nested = allOf(both, LeakyBucket.create({ rate: 100, clock }));
    expect(nested.decide()).toEqual({
      allowed: true,
      limit: 1,
      remaining: 0,
      retryAfterMs: 0,
      resetMs: 600,
      nextTokenMs: 10,
    });
    expect(nested.decide()).toMatchObject({ allowed: false, retryAfterMs: 10 });
  });
});

describe('allOf the same limiter, given more than once', () => {
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
    expect(() => all.waitSync(3)).toThrow(/^n must be at most /);
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

  it('is refused if it is one key under two tiers', () => {
    const tiers = { pro: { rate: 5, burst: 9 } };
    const buckets = KeyedTokenBucket.create({ rate: 1, burst: 5, tiers, capacity: 9, ...shared });
    const limits = { limit: 5, tiers: { pro: { limit: 9 } }, intervalMs: 1000, capacity: 9 };
    for (const table of [buckets, KeyedFixedWindow.create({ ...limits, ...shared })]) {
      const tier = 'pro';
      const ann = table.for('ann', { tier });
      const message = 'limiters must not be one key under two tiers: it has one state';
      expect(() => allOf(allOf(ann), table.for('ann'))).toThrow(new TypeError(message));
      const all = allOf(ann, table.for('bob'), table.for('ann', { tier }));
      expect([all.tryConsume(4), ann.available()]).toEqual([true, 1]);
    }
  });
});
