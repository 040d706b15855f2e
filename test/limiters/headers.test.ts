import { describe, expect, it } from 'vitest';
import {
  FixedWindow,
  LimitSet,
  ManualClock,
  rateLimitHeaders,
  SlidingLog,
  SlidingWindow,
  TokenBucket,
} from '../../src/index.ts';

const ADMITTED = {
  allowed: true,
  limit: 10,
  remaining: 7,
  retryAfterMs: 0,
  resetMs: 30_000,
  nextTokenMs: 9100,
};
const REFUSED = {
  allowed: false,
  limit: 10,
  remaining: 0,
  retryAfterMs: 1500,
  resetMs: 12_000,
  nextTokenMs: 1500,
};

describe('rateLimitHeaders', () => {
  it.each([
    [
      'an admission',
      ADMITTED,
      {},
      { RateLimit: '"default";r=7;t=10', 'RateLimit-Policy': '"default";q=10' },
    ],
    [
      'a refusal, its wait rounded up to seconds',
      REFUSED,
      {},
      { RateLimit: '"default";r=0;t=2', 'RateLimit-Policy': '"default";q=10', 'Retry-After': '2' },
    ],
    [
      'a refusal for less than a second',
      { ...REFUSED, retryAfterMs: 0.2 },
      {},
      { RateLimit: '"default";r=0;t=1', 'RateLimit-Policy': '"default";q=10', 'Retry-After': '1' },
    ],
    [
      'a refusal that time does not mend, without Retry-After',
      { ...REFUSED, retryAfterMs: Number.POSITIVE_INFINITY },
      {},
      { RateLimit: '"default";r=0;t=2', 'RateLimit-Policy': '"default";q=10' },
    ],
    [
      'the window and a name that needs quoting',
      ADMITTED,
      { policy: 'say "hi"\\', windowMs: 60_000 },
      {
        RateLimit: '"say \\"hi\\"\\\\";r=7;t=10',
        'RateLimit-Policy': '"say \\"hi\\"\\\\";q=10;w=60',
      },
    ],
    [
      'an unlimited limiter, with no fields',
      { ...ADMITTED, limit: Number.POSITIVE_INFINITY, remaining: Number.POSITIVE_INFINITY },
      {},
      {},
    ],
  ])('reports %s', (_, decision, options, fields) => {
    expect(rateLimitHeaders(decision, options)).toEqual(fields);
  });

  it('reports the decision of a bucket', () => {
    const clock = ManualClock.create();
    const bucket = TokenBucket.create({ rate: 0.5, burst: 2, clock });
    bucket.tryConsume(2);
    expect(rateLimitHeaders(bucket.decide(), { policy: 'burst' })).toEqual({
      RateLimit: '"burst";r=0;t=2',
      'RateLimit-Policy': '"burst";q=2',
      'Retry-After': '2',
    });
  });

  it('reports when more of the quota comes, not when it is full, and nothing if it is full', () => {
    const clock = ManualClock.create();
    const bucket = TokenBucket.create({ rate: 0.1, burst: 6, clock });
    const quantum = TokenBucket.create({ fillIntervalMs: 20_000, quantum: 2, burst: 6, clock });
    const fixed = FixedWindow.create({ limit: 6, intervalMs: 60_000, clock });
    const sliding = SlidingWindow.create({ limit: 6, intervalMs: 60_000, slots: 6, clock });
    const log = SlidingLog.create({ limit: 6, intervalMs: 60_000, clock });
    const all = [bucket, quantum, fixed, sliding, log];
    const fields = (n: number) =>
      all.map((limiter) =>
        rateLimitHeaders(limiter.decide(n)).RateLimit?.replace('"default";', ''),
      );
    expect(fields(0)).toEqual(['r=6', 'r=6', 'r=6', 'r=6', 'r=6']);
    clock.advance(5000);
    expect(fields(2)).toEqual(['r=4;t=10', 'r=4;t=15', 'r=4;t=55', 'r=4;t=55', 'r=4;t=60']);
    clock.advance(5000);
    expect(fields(3)).toEqual(['r=1;t=5', 'r=1;t=10', 'r=1;t=50', 'r=1;t=50', 'r=1;t=55']);
    // A refusal of more than one more token cannot succeed sooner than its Retry-After.
    expect(rateLimitHeaders(bucket.decide(3))).toMatchObject({
      RateLimit: '"default";r=1;t=5',
      'Retry-After': '15',
    });
  });

  it('gives no time for a limit that is paused', () => {
    const clock = ManualClock.create();
    const paused = TokenBucket.create({ rate: 0, burst: 2, clock });
    const policy = { 'RateLimit-Policy': '"default";q=2' };
    expect(rateLimitHeaders(paused.decide())).toEqual({ RateLimit: '"default";r=1', ...policy });
    paused.tryConsume();
    expect(rateLimitHeaders(paused.decide())).toEqual({ RateLimit: '"default";r=0', ...policy });
    const limits = [
      { rate: 0, burst: 3 },
      { rate: 1, burst: 4 },
    ];
    const half = LimitSet.create({ limits, clock }).decide();
    expect(rateLimitHeaders(half).RateLimit).toBe('"default-1";r=2, "default-2";r=3;t=1');
  });

  describe('of a limit set', () => {
    const bucket = LimitSet.create({
      limits: [
        { rate: 10, burst: 10 },
        { rate: 2, burst: 100 },
      ],
      clock: ManualClock.create(),
    });
    const decision = bucket.decide(5);

    it.each([
      [{}, '"default-1";r=5;t=1, "default-2";r=95;t=1', '"default-1";q=10, "default-2";q=100'],
      [
        { policy: ['second', 'minute'], windowMs: [1000, 60_000] },
        '"second";r=5;t=1, "minute";r=95;t=1',
        '"second";q=10;w=1, "minute";q=100;w=60',
      ],
      [
        { policy: 'api', windowMs: 500 },
        '"api-1";r=5;t=1, "api-2";r=95;t=1',
        '"api-1";q=10;w=1, "api-2";q=100;w=1',
      ],
    ])('has a policy for each: %o', (options, rateLimit, policy) => {
      const fields = { RateLimit: rateLimit, 'RateLimit-Policy': policy };
      expect(rateLimitHeaders(decision, options)).toEqual(fields);
    });

    it('leaves out a limit that is unlimited', () => {
      const limits = [
        { rate: 1, burst: 4 },
        { rate: Number.POSITIVE_INFINITY, burst: Number.POSITIVE_INFINITY },
      ];
      const half = LimitSet.create({ limits, clock: ManualClock.create() });
      expect(rateLimitHeaders(half.decide(), { policy: ['a', 'b'] })).toEqual({
        RateLimit: '"a";r=3;t=1',
        'RateLimit-Policy': '"a";q=4',
      });
    });

    it.each([
      [{ policy: ['one'] }, /^policy must be an array of 2, one for each limit, got 1/],
      [{ windowMs: [1, 2, 3] }, /^windowMs must be an array of 2, one for each limit, got 3/],
      [{ policy: ['one', ''] }, /^policy must be a string of printable ASCII/],
    ])('names what is wrong with %o', (options, message) => {
      expect(() => rateLimitHeaders(decision, options)).toThrow(message);
    });
  });

  it.each([Promise.resolve(ADMITTED), true, undefined])(
    'refuses what is no decision: %o',
    (wrong) => {
      expect(() => rateLimitHeaders(wrong as never)).toThrow(
        /^decision must be what decide returned, or its promise resolved with, got /,
      );
    },
  );

  it.each([
    [{ policy: '' }, TypeError, /^policy must be a string of printable ASCII, got ""/],
    [{ policy: 'Grüße' }, TypeError, /^policy must be/],
    [{ policy: 1 as never }, TypeError, /^policy must be .*, got 1/],
    [{ windowMs: 0 }, RangeError, /^windowMs must be a number greater than 0, got 0/],
  ])('names what is wrong with %o', (options, error, message) => {
    expect(() => rateLimitHeaders(ADMITTED, options)).toThrow(error);
    expect(() => rateLimitHeaders(ADMITTED, options)).toThrow(message);
  });
});
