import { describe, expect, it } from 'vitest';
import { ManualClock, rateLimitHeaders, TokenBucket } from '../../src/index.ts';

const ADMITTED = { allowed: true, limit: 10, remaining: 9, retryAfterMs: 0, resetMs: 100 };
const REFUSED = { allowed: false, limit: 10, remaining: 0, retryAfterMs: 1500, resetMs: 12_000 };

describe('rateLimitHeaders', () => {
  it.each([
    [
      'an admission',
      ADMITTED,
      {},
      { RateLimit: '"default";r=9;t=1', 'RateLimit-Policy': '"default";q=10' },
    ],
    [
      'a refusal, its wait rounded up to seconds',
      REFUSED,
      {},
      { RateLimit: '"default";r=0;t=12', 'RateLimit-Policy': '"default";q=10', 'Retry-After': '2' },
    ],
    [
      'a refusal for less than a second',
      { ...REFUSED, retryAfterMs: 0.2 },
      {},
      { RateLimit: '"default";r=0;t=12', 'RateLimit-Policy': '"default";q=10', 'Retry-After': '1' },
    ],
    [
      'a refusal that time does not mend, without Retry-After',
      { ...REFUSED, retryAfterMs: Number.POSITIVE_INFINITY },
      {},
      { RateLimit: '"default";r=0;t=12', 'RateLimit-Policy': '"default";q=10' },
    ],
    [
      'the window and a name that needs quoting',
      ADMITTED,
      { policy: 'say "hi"\\', windowMs: 60_000 },
      {
        RateLimit: '"say \\"hi\\"\\\\";r=9;t=1',
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
      RateLimit: '"burst";r=0;t=4',
      'RateLimit-Policy': '"burst";q=2',
      'Retry-After': '2',
    });
  });

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
