import { describe, expect, test, vi } from 'vitest';
import {
  FixedWindow,
  KeyedLimitSet,
  KeyedTokenBucket,
  ManualClock,
  TokenBucket,
} from '../../../src/index.ts';
import type { RequestLimitOptions } from '../../../src/integrations/http.ts';
import { type AnyRequest, FRAMEWORKS } from '../../support/frameworks.ts';
import { get, statuses } from '../../support/http-get.ts';

type Limits = RequestLimitOptions<AnyRequest>;

const clock = ManualClock.create();

function bucketOf(burst: number): TokenBucket {
  return TokenBucket.create({ rate: 0.5, burst, clock });
}

function keyed(): KeyedTokenBucket {
  return KeyedTokenBucket.create({ rate: 0.5, burst: 9, capacity: 16, clock });
}

const WINDOW = FixedWindow.create({ limit: 9, intervalMs: 1000, clock });

/** Collects the errors that a middleware reports. */
function reported() {
  const errors: unknown[] = [];
  return { errors, onError: (error: unknown) => void errors.push(error) };
}

const broken = new Error('broken');
const breaking = () => {
  throw broken;
};

describe.each(Object.entries(FRAMEWORKS))('with %s', (name, serve) => {
  test.each([
    ['throws', () => breaking],
    ['rejects', () => async () => breaking()],
  ])('a refusal stands if onLimit %s, also where failures let requests pass', async (_, of) => {
    const { errors, onError } = reported();
    const limiter = bucketOf(1);
    const url = await serve({ limiter, onLimit: of(), onError, fail: 'open' });
    expect(await statuses(url, 2)).toEqual([200, 429]);
    expect(errors).toEqual([broken]);
  });

  test.each([
    ['throws', { decide: breaking }],
    ['rejects', { decide: async () => breaking() }],
  ])('a limiter that %s answers 503, or lets requests pass if asked to', async (_, limiter) => {
    const { errors, onError } = reported();
    const closed = await serve({ limiter, onError }, true);
    expect(await get(closed)).toMatchObject({ status: 503, body: 'Service unavailable\n' });
    const open = await serve({ limiter, onError, fail: 'open' });
    expect(await get(open)).toMatchObject({ status: 200, body: 'Hello' });
    const problem = await serve({ limiter, onError, problemJson: true });
    expect(JSON.parse((await get(problem)).body)).toEqual({
      type: 'about:blank',
      title: 'Service Unavailable',
      status: 503,
    });
    expect(errors).toEqual([broken, broken, broken]);
  });

  // docs/http.md: "If your key, cost, skip or limiter function throws"
  test.each<[string, Limits, string]>([
    ['the function for the limiter', { limiter: breaking }, 'broken'],
    ['cost', { limiter: bucketOf(9), cost: breaking }, 'broken'],
    ['skip', { limiter: bucketOf(9), skip: breaking }, 'broken'],
    ['key', { limiter: keyed(), key: breaking }, 'broken'],
    [
      'a function that throws no error',
      {
        limiter: bucketOf(9),
        cost: () => {
          throw undefined;
        },
      },
      'a function of the limit threw undefined',
    ],
    [
      'an async key',
      { limiter: keyed(), key: (async () => 'ann') as never },
      'key must be a string, a number or a bigint, got an object',
    ],
    [
      'a negative cost',
      { limiter: bucketOf(9), cost: () => -1 },
      'cost must be a number at least 0',
    ],
    ['half a token of a window', { limiter: WINDOW, cost: () => 0.5 }, 'n must be an integer'],
    [
      'a key that a limiter on a server refuses',
      {
        limiter: {
          decide: async () => {
            throw new RangeError('key must have 1 to 1024 characters');
          },
        },
      },
      'key must have 1 to 1024 characters',
    ],
    [
      'a function for the limiter that returns one with keys',
      { limiter: (() => keyed()) as never },
      'limiter must return the limiter of one key, such as limiter.for(key), got one with keys',
    ],
    [
      'a function for the limiter that returns a promise',
      { limiter: (async () => bucketOf(9)) as never },
      'limiter must return a limiter, got an object',
    ],
    [
      'a limiter whose answer is no decision',
      { limiter: { decide: (() => true) as never } },
      'limiter.decide must return a decision, got true',
    ],
    [
      'a limiter whose promise is none of a decision',
      { limiter: { decide: (async () => undefined) as never } },
      'limiter.decide must return a decision, got undefined',
    ],
    [
      'a function for the limiter that returns none',
      { limiter: (() => undefined) as never },
      'limiter must return a limiter, got undefined',
    ],
    [
      'a list of policies that does not fit the limiter of a request',
      { limiter: () => bucketOf(9), policy: ['second', 'minute'] },
      'policy must be an array of 1, one for each limit, got 2',
    ],
    [
      'a list of policies that does not fit a limiter on a server',
      { limiter: { decide: async () => bucketOf(9).decide() }, policy: ['second', 'minute'] },
      'policy must be an array of 1, one for each limit, got 2',
    ],
  ])('an error of %s never lets a request pass', async (_, limits, message) => {
    const { errors, onError } = reported();
    for (const fail of ['open', 'closed'] as const) {
      const { status, body } = await get(await serve({ ...limits, onError, fail }));
      expect(status).toBe(500);
      // Only node:http has no handler of errors.
      if (name !== 'node:http') expect(body).toContain(message);
      else expect(body).toBe('Internal server error\n');
    }
    const wanted = name === 'node:http' ? [message, message] : [];
    expect(errors.map(String)).toEqual(wanted.map((text) => expect.stringContaining(text)));
  });

  test('a list of policies that does not fit the limiter of a request takes no token', async () => {
    const set = KeyedLimitSet.create({ limits: [{ rate: 1, burst: 9 }], capacity: 4, clock });
    const two = [
      { rate: 0.5, burst: 9 },
      { rate: 1, burst: 9 },
    ] as const;
    const sets = KeyedLimitSet.create({ limits: two, capacity: 4, clock });
    const buckets = [bucketOf(9), keyed().for('ann'), set.for('ann')];
    const { onError } = reported();
    for (const limiter of [...buckets, WINDOW]) {
      const url = await serve({ limiter: () => limiter, windowMs: [1, 2], onError });
      expect(await statuses(url, 2)).toEqual([500, 500]);
      expect(limiter.available()).toBe(9);
    }
    const url = await serve({ limiter: () => sets.for('ann'), policy: ['second', 'minute'] });
    expect(await statuses(url, 1)).toEqual([200]);
  });

  test('without onError, or if that throws, the first failure is a warning', async () => {
    const warn = vi.spyOn(process, 'emitWarning').mockImplementation(() => undefined);
    const limiter = { decide: breaking };
    expect(await statuses(await serve({ limiter }), 2)).toEqual([503, 503]);
    const onError = () => {
      throw new Error('in onError');
    };
    expect(await statuses(await serve({ limiter, onError }), 2)).toEqual([503, 503]);
    const rejecting = async () => {
      throw new Error('in async onError');
    };
    expect(await statuses(await serve({ limiter, onError: rejecting }), 2)).toEqual([503, 503]);
    const throwing = () => {
      throw Object.create(null); // has no toString
    };
    const failing = { decide: throwing };
    expect(await statuses(await serve({ limiter: failing, onError: throwing }), 1)).toEqual([503]);
    expect(warn.mock.calls.map(([text]) => text)).toEqual([
      'the limiter of requests failed: Error: broken',
      'the limiter of requests failed: Error: in onError',
      'the limiter of requests failed: Error: in async onError',
      'the limiter of requests failed: an object',
    ]);
  });

  test('an async skip skips nothing', async () => {
    const skipping = await serve({ limiter: bucketOf(1), skip: (async () => true) as never });
    expect(await statuses(skipping, 2)).toEqual([200, 429]);
  });
});

test('node:http answers an error of a function with a problem, if asked to', async () => {
  const warn = vi.spyOn(process, 'emitWarning').mockImplementation(() => undefined);
  const limits = { limiter: bucketOf(1), cost: breaking, problemJson: true };
  const url = await FRAMEWORKS['node:http']?.(limits);
  const { status, body, fields } = await get(`${url}`);
  expect([status, JSON.parse(body)]).toEqual([
    500,
    { type: 'about:blank', title: 'Internal Server Error', status: 500 },
  ]);
  expect(fields['content-type']).toBe('application/problem+json');
  expect(warn).toHaveBeenCalledOnce();
});
