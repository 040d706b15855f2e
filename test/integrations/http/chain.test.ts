import { describe, expect, test } from 'vitest';
import { FixedWindow, LimitSet, ManualClock, TokenBucket } from '../../../src/index.ts';
import { expressMiddleware } from '../../../src/integrations/http.ts';
import { FRAMEWORKS } from '../../support/frameworks.ts';
import { get } from '../../support/http-get.ts';

// Several middlewares limit one request: its fields tell of all limits.

const clock = ManualClock.create();

function bucketOf(burst: number, rate = 0.5): TokenBucket {
  return TokenBucket.create({ rate, burst, clock });
}

describe.each(Object.entries(FRAMEWORKS))('in a chain with %s', (_, serve) => {
  test('RateLimit and RateLimit-Policy list the policies of all', async () => {
    const window = FixedWindow.create({ limit: 100, intervalMs: 60_000, clock });
    const url = await serve({ limiter: bucketOf(2), policy: 'burst' }, false, [
      { limiter: window, policy: 'minute', windowMs: 60_000 },
    ]);
    const { status, fields } = await get(url);
    expect([status, fields['ratelimit']]).toEqual([200, '"burst";r=1;t=2, "minute";r=99;t=60']);
    expect(fields['ratelimit-policy']).toBe('"burst";q=2, "minute";q=100;w=60');
  });

  test('each policy has a name of its own', async () => {
    const limits = [
      { rate: 1, burst: 5 },
      { rate: 1, burst: 6 },
    ];
    const several = LimitSet.create({ limits, clock });
    const url = await serve({ limiter: bucketOf(3) }, false, [
      { limiter: bucketOf(4) },
      { limiter: several },
      { limiter: bucketOf(7), policy: 'default-1' },
      { limiter: bucketOf(8), headers: false },
    ]);
    expect((await get(url)).fields['ratelimit-policy']).toBe(
      [
        '"default";q=3',
        '"default-2";q=4',
        '"default-1";q=5',
        '"default-2-2";q=6',
        '"default-1-2";q=7',
      ].join(', '),
    );
  });

  test('a refusal names its policy as the fields do, and ends all times with Retry-After', async () => {
    const url = await serve({ limiter: bucketOf(60) }, false, [
      { limiter: bucketOf(1), problemJson: true },
    ]);
    await get(url);
    const { status, body, fields } = await get(url);
    expect(status).toBe(429);
    expect(JSON.parse(body)['violated-policies']).toEqual(['default-2']);
    expect(fields).toMatchObject({
      ratelimit: '"default";r=58;t=2, "default-2";r=0;t=2',
      'ratelimit-policy': '"default";q=60, "default-2";q=1',
      'retry-after': '2',
    });
  });

  test('one that sends no fields, or is skipped, changes none', async () => {
    const url = await serve({ limiter: bucketOf(9), headers: false }, false, [
      { limiter: bucketOf(5) },
      { limiter: bucketOf(6), skip: () => true },
    ]);
    const { fields } = await get(url);
    expect(fields['ratelimit']).toBe('"default";r=4;t=2');
  });

  test.each([
    ['first', 1, 9, '1', '0'],
    ['last', 9, 1, '1', '0'],
  ])('the old fields are those of the tightest limit: the %s', async (...row) => {
    const [, first, last, limit, remaining] = row;
    const legacy = { headers: false, legacyHeaders: true };
    const url = await serve({ limiter: bucketOf(first), ...legacy }, false, [
      { limiter: bucketOf(last), ...legacy },
      { limiter: bucketOf(1) },
    ]);
    expect((await get(url)).fields).toMatchObject({
      'x-ratelimit-limit': limit,
      'x-ratelimit-remaining': remaining,
    });
  });

  test('the old fields have no time if the tightest limit has none', async () => {
    const legacy = { headers: false, legacyHeaders: true };
    const paused = TokenBucket.create({ rate: 0, burst: 1, clock });
    const url = await serve({ limiter: bucketOf(1), ...legacy }, false, [
      { limiter: paused, ...legacy },
    ]);
    const { fields } = await get(url);
    expect(fields).toMatchObject({ 'x-ratelimit-limit': '1', 'x-ratelimit-remaining': '0' });
    expect(fields).not.toHaveProperty('x-ratelimit-reset');
  });

  test('the old fields of a refusal are those of the limit that refused', async () => {
    const legacy = { headers: false, legacyHeaders: true };
    const url = await serve({ limiter: bucketOf(2), ...legacy, cost: () => 2 }, false, [
      { limiter: bucketOf(5), ...legacy, cost: () => 6 },
    ]);
    const { status, fields } = await get(url);
    expect([status, fields['x-ratelimit-limit']]).toEqual([429, '5']);
  });
});

test('a refused request that its handler passes on has the wait in the fields of all', () => {
  const fields = new Map<string, unknown>();
  const response = {
    headersSent: false,
    setHeader: (name: string, value: unknown) => fields.set(name, value),
    removeHeader: (name: string) => fields.delete(name),
  };
  const request = {};
  const empty = bucketOf(1, 0.25);
  empty.tryConsume();
  for (const limiter of [empty, bucketOf(60)]) {
    const handler = (_request: object, _response: object, next: () => void) => next();
    const middleware = expressMiddleware({ limiter, handler });
    middleware(request as never, response as never, () => undefined);
  }
  expect(fields.get('RateLimit')).toBe('"default";r=0;t=4, "default-2";r=59;t=2');
  expect(fields.get('Retry-After')).toBe('4');
});
