import { describe, expect, onTestFinished, test } from 'vitest';
import {
  allOf,
  type Decision,
  FixedWindow,
  KeyedFixedWindow,
  KeyedTokenBucket,
  LimitSet,
  ManualClock,
  TokenBucket,
} from '../../../src/index.ts';
import { checkRequestLimit } from '../../../src/integrations/http/options.ts';
import { expressRateLimitStore } from '../../../src/integrations/http.ts';
import { RedisKeyedTokenBucket, RedisTokenBucket } from '../../../src/integrations/redis.ts';
import { type AnyRequest, FRAMEWORKS } from '../../support/frameworks.ts';
import { hostRegion } from '../../support/host.ts';
import { get, statuses } from '../../support/http-get.ts';
import { CONNECT } from '../redis/connections.ts';
import { LACKS_REDIS, RedisServer } from '../redis/server.ts';

const clock = ManualClock.create();

function bucketOf(burst: number): TokenBucket {
  return TokenBucket.create({ rate: 0.5, burst, clock });
}

function twoLimits(): LimitSet {
  const limits = [
    { rate: 1, burst: 5 },
    { rate: 0.5, burst: 1 },
  ];
  return LimitSet.create({ limits, clock });
}

const TWO_LIMITS = twoLimits();
const KEYED = KeyedTokenBucket.create({ rate: 0.5, burst: 1, capacity: 16, clock });
const WINDOW = FixedWindow.create({ limit: 2, intervalMs: 1000, clock });

/** The same limiter, but on a server. */
function remote(limiter: { decide(n?: number): Decision }) {
  return { decide: async (n?: number) => limiter.decide(n) };
}

test('options may be inherited', () => {
  const defaults = { skip: () => true, onLimit: () => {}, policy: 'mine', windowMs: 1000 };
  const options = Object.assign(Object.create(defaults), { limiter: WINDOW });
  expect(checkRequestLimit(options, () => 'ann')).toMatchObject({ ...defaults, limiter: WINDOW });
});

describe.each(Object.entries(FRAMEWORKS))('with %s', (name, serve) => {
  test.each([
    ['in this thread', (bucket: TokenBucket) => bucket],
    ['on a server', remote],
  ])('a limiter %s admits its burst, and refuses with 429', async (_, limiterOf) => {
    const url = await serve({ limiter: limiterOf(bucketOf(2)), policy: 'burst', windowMs: 4000 });
    const first = await get(url);
    expect([first.status, first.body]).toEqual([200, 'Hello']);
    expect(first.fields).toMatchObject({
      ratelimit: '"burst";r=1;t=2',
      'ratelimit-policy': '"burst";q=2;w=4',
    });
    expect(first.fields).not.toHaveProperty('retry-after');
    expect((await get(url)).fields['ratelimit']).toBe('"burst";r=0;t=2');
    // The fields of a refusal end with the wait for one token, not for all.
    expect(await get(url)).toEqual({
      status: 429,
      body: 'Too many requests\n',
      fields: {
        ratelimit: '"burst";r=0;t=2',
        'ratelimit-policy': '"burst";q=2;w=4',
        'retry-after': '2',
        'content-type': expect.stringMatching(/^text\/plain; ?charset=utf-8$/i),
      },
    });
  });

  test('each client has its own limit, by its address', async () => {
    const limiter = KeyedTokenBucket.create({ rate: 0.5, burst: 1, capacity: 16, clock });
    const url = await serve({ limiter });
    expect(await statuses(url, 2)).toEqual([200, 429]);
    expect(limiter.available('127.0.0.1')).toBe(0);
    expect(limiter.available('127.0.0.2')).toBe(1);
  });

  test('key, cost and skip decide how much a request takes, and from which bucket', async () => {
    const limiter = KeyedFixedWindow.create({ limit: 5, intervalMs: 1000, capacity: 16, clock });
    const seen: AnyRequest[] = [];
    const url = await serve({
      limiter,
      key: (request) => {
        seen.push(request);
        return 'ann';
      },
      cost: () => 3,
      skip: () => seen.length === 2,
    });
    expect(await statuses(url, 3)).toEqual([200, 429, 200]);
    expect(seen).toHaveLength(2);
    expect(limiter.available('ann')).toBe(2);
  });

  test('a function may choose the limiter of a request', async () => {
    const perClient = KeyedTokenBucket.create({ rate: 0.5, burst: 5, capacity: 16, clock });
    const all = FixedWindow.create({ limit: 2, intervalMs: 1000, clock });
    const url = await serve({ limiter: () => allOf(perClient.for('ann'), all) });
    expect(await statuses(url, 3)).toEqual([200, 200, 429]);
    expect(perClient.available('ann')).toBe(3);
  });

  test('a request that can never be admitted is not asked to come again', async () => {
    const url = await serve({ limiter: bucketOf(2), cost: () => 3 });
    const { status, fields } = await get(url);
    expect([status, fields['ratelimit']]).toEqual([429, '"default";r=2']);
    expect(fields).not.toHaveProperty('retry-after');
  });

  test('problemJson says which policies were violated', async () => {
    const limiter = twoLimits();
    const problems: unknown[] = [];
    for (const policy of ['client', ['second', 'minute']]) {
      const url = await serve({ limiter, policy, problemJson: true });
      await get(url);
      const { body, fields } = await get(url);
      expect(fields['content-type']).toMatch(/^application\/problem\+json/);
      problems.push(JSON.parse(body));
    }
    expect(problems).toEqual(
      ['client-2', 'minute'].map((violated) => ({
        type: 'https://iana.org/assignments/http-problem-types#quota-exceeded',
        title: 'Request cannot be satisfied as assigned quota has been exceeded',
        status: 429,
        'violated-policies': [violated],
      })),
    );
  });

  test('the fields may be left out, or be the old ones', async () => {
    const url = await serve({ limiter: bucketOf(1), headers: false, legacyHeaders: true });
    const before = Date.now();
    const { fields } = await get(url);
    const { 'x-ratelimit-reset': reset, 'content-type': _, ...others } = fields;
    expect(others).toEqual({ 'x-ratelimit-limit': '1', 'x-ratelimit-remaining': '0' });
    expect(Number(reset)).toBeGreaterThanOrEqual(Math.ceil((before + 2000) / 1000));
    expect(Number(reset)).toBeLessThanOrEqual(Math.ceil((Date.now() + 2000) / 1000));
    expect((await get(url)).fields).toMatchObject({
      'retry-after': '2',
      'x-ratelimit-remaining': '0',
    });
  });

  test('onLimit receives refusals, and a handler answers them', async () => {
    const refusals: Decision[] = [];
    const url = await serve(
      { limiter: bucketOf(1), onLimit: (_, decision) => refusals.push(decision) },
      true,
    );
    await get(url);
    expect(refusals).toEqual([]);
    const { status, body, fields } = await get(url);
    expect([status, body]).toEqual([418, 'later: 418 2000']);
    expect(fields).toMatchObject({ ratelimit: '"default";r=0;t=2', 'retry-after': '2' });
    expect(refusals).toEqual([
      {
        allowed: false,
        limit: 1,
        remaining: 0,
        retryAfterMs: 2000,
        resetMs: 2000,
        nextTokenMs: 2000,
      },
    ]);
  });

  test('fields that other middleware has set stay', async () => {
    const response = await fetch(await serve({ limiter: bucketOf(1), cost: () => 2 }));
    expect(response.status).toBe(429);
    if (name === 'hono') expect(response.headers.get('x-before')).toBe('kept');
  });

  test('an unlimited limiter has no fields, and one with a burst no more left than that', async () => {
    const fieldsOf = async (burst: number) => {
      const limiter = TokenBucket.create({ rate: Number.POSITIVE_INFINITY, burst });
      const { fields } = await get(await serve({ limiter, legacyHeaders: true }));
      const { 'content-type': _, 'x-ratelimit-reset': __, ...others } = fields;
      return others;
    };
    expect(await fieldsOf(Number.POSITIVE_INFINITY)).toEqual({});
    expect(await fieldsOf(5)).toEqual({
      ...{ ratelimit: '"default";r=5', 'ratelimit-policy': '"default";q=5' },
      ...{ 'x-ratelimit-limit': '5', 'x-ratelimit-remaining': '5' },
    });
  });

  test('a paused limiter does not say when to come again', async () => {
    const limiter = TokenBucket.create({ rate: 0, burst: 1, clock });
    const url = await serve({ limiter, legacyHeaders: true });
    await get(url);
    const { status, fields } = await get(url);
    expect(status).toBe(429);
    expect(fields).toMatchObject({ ratelimit: '"default";r=0', 'x-ratelimit-limit': '1' });
    expect(fields).not.toHaveProperty('retry-after');
    expect(fields).not.toHaveProperty('x-ratelimit-reset');
  });

  const misuses: readonly [limits: object, message: string][] = [
    [{}, 'limiter must be a limiter or a function, got undefined'],
    [{ limiter: 5 }, 'limiter must be a limiter or a function, got 5'],
    [{ limiter: KEYED, key: 'ip' }, 'key must be a function, got "ip"'],
    [{ limiter: bucketOf(1), key: () => 'ann' }, 'key must be left out: the limiter has no keys'],
    [
      { limiter: () => bucketOf(1), key: () => 'ann' },
      'key must be left out: the function for the limiter chooses keys',
    ],
    [{ limiter: bucketOf(1), handler: true }, 'handler must be a function, got true'],
    [{ limiter: bucketOf(1), fail: 'shut' }, 'fail must be "open" or "closed", got "shut"'],
    [{ limiter: bucketOf(1), headers: 1 }, 'headers must be a boolean, got 1'],
    [{ limiter: bucketOf(1), policy: '' }, 'policy must be a string of printable ASCII, got ""'],
    [{ limiter: bucketOf(1), policy: [''] }, 'policy must be a string of printable ASCII'],
    [
      { limiter: bucketOf(1), policy: ['a', 'b'] },
      'policy must be an array of 1, one for each limit, got 2',
    ],
    [
      { limiter: bucketOf(1), windowMs: [1, 2] },
      'windowMs must be an array of 1, one for each limit, got 2',
    ],
    [
      { limiter: WINDOW, policy: ['a', 'b'] },
      'policy must be an array of 1, one for each limit, got 2',
    ],
    [
      { limiter: TWO_LIMITS, policy: ['a'] },
      'policy must be an array of 2, one for each limit, got 1',
    ],
    [{ limiter: bucketOf(1), windowMs: [0] }, 'windowMs must be a number greater than 0, got 0'],
    [
      { limiter: bucketOf(1), policy: ['a'], windowMs: [1, 2] },
      'windowMs must be an array of 1, one for each limit, got 2',
    ],
    [{ limiter: bucketOf(1), onlimit: () => 1 }, 'has no option "onlimit"; did you mean onLimit?'],
  ];
  test.each(misuses.map(([limits, message]) => [message, limits] as const))(
    'is refused: %s',
    async (message, limits) => {
      await expect(serve(limits as never)).rejects.toThrow(message);
    },
  );
});

/** Too slow for a token to come. */
const LIMIT = { rate: 1e-3, burst: 2 };

test.skipIf(LACKS_REDIS)(
  'limits on a Redis server hold in each framework, until it is gone',
  async () => {
    const server = await RedisServer.start();
    const connection = await CONNECT.redis(server.url);
    const { client } = connection;
    const shared = { ...LIMIT, client, timeoutMs: 2000, whenUnreachable: 'throw' } as const;
    const errors: unknown[] = [];
    const onError = (error: unknown) => errors.push(error);
    try {
      const urls: string[] = [];
      for (const [framework, serve] of Object.entries(FRAMEWORKS)) {
        const perClient = RedisKeyedTokenBucket.create({ ...shared, prefix: framework });
        const url = await serve({ limiter: perClient, onError });
        expect(await statuses(url, 3)).toEqual([200, 200, 429]);
        expect(await perClient.available('127.0.0.1')).toBeLessThan(1);
        const all = RedisTokenBucket.create({ ...shared, key: `all ${framework}` });
        expect(await statuses(await serve({ limiter: all }), 3)).toEqual([200, 200, 429]);
        urls.push(url);
      }
      expect(errors).toEqual([]);
      await server.stop();
      for (const url of urls) expect(await statuses(url, 1)).toEqual([503]);
      const unreachable = expect.objectContaining({ code: 'ERR_UNREACHABLE' });
      expect(errors).toEqual(urls.map(() => unreachable));
    } finally {
      connection.end();
      await server.stop();
    }
  },
);

test.skipIf(LACKS_REDIS)(
  'a long key has its limit on a Redis server, also with fail: open',
  async () => {
    const server = await RedisServer.start();
    onTestFinished(() => server.stop());
    const connection = await CONNECT.redis(server.url);
    onTestFinished(() => connection.end());
    const limiter = RedisKeyedTokenBucket.create({
      ...LIMIT,
      client: connection.client,
      prefix: 'long',
      timeoutMs: 60_000,
      whenUnreachable: 'throw',
    });
    for (const serve of Object.values(FRAMEWORKS)) {
      await limiter.returnTokens('x'.repeat(2000), LIMIT.burst);
      const url = await serve({ limiter, key: () => 'x'.repeat(2000), fail: 'open' });
      expect(await statuses(url, 4)).toEqual([200, 200, 429, 429]);
    }
  },
);

test.each(Object.entries(FRAMEWORKS))('%s keeps a limit of all processes', async (_, serve) => {
  const region = hostRegion({ bytes: 65_536 });
  const open = () => KeyedTokenBucket.open(region, 'clients', { ...LIMIT, capacity: 16 });
  expect(await statuses(await serve({ limiter: open() }), 3)).toEqual([200, 200, 429]);
  expect(await statuses(await serve({ limiter: open() }), 1)).toEqual([429]);
});

test('the counts of a store may be those of all processes of a machine', () => {
  const region = hostRegion({ bytes: 65_536 });
  const stores = [1, 2].map(() => expressRateLimitStore({ region, capacity: 16 }));
  for (const store of stores) store.init({ windowMs: 60_000 });
  expect(stores.map((store) => store.increment('ann').totalHits)).toEqual([1, 2]);
});
