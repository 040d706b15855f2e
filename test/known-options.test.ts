import { setTimeout } from 'node:timers/promises';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import {
  allOf,
  FixedWindow,
  KeyedFixedWindow,
  KeyedTokenBucket,
  LeakyBucket,
  LimitSet,
  ManualClock,
  Region,
  rateLimitHeaders,
  Semaphore,
  SlidingLog,
  SlidingWindow,
  Sometimes,
  TickerClock,
  TokenBucket,
} from '../src/index.ts';
import { rateLimitedFetch } from '../src/integrations/fetch.ts';
import { fastifyPlugin } from '../src/integrations/http.ts';
import { ConsistentRateLimitingSampler, samplerFrom } from '../src/integrations/opentelemetry.ts';
import { FleetBucket } from '../src/integrations/redis.ts';
import { throttleStream } from '../src/integrations/streams.ts';
import { checkDriveOptions } from '../src/load/api/check-options.ts';
import { throttledPool } from '../src/throttle/pool.ts';
import { throttled } from '../src/throttle/throttled.ts';

const bucket = TokenBucket.create({ rate: 10, burst: 5 });
/** A source of a fleet that gives what is asked. */
const bucketSource = {
  consumeOrDrain: async (n: number) => n,
  returnTokens: async () => undefined,
};
const window = FixedWindow.create({ limit: 5, intervalMs: 1000 });
/** Calls a function with options that its type does not have. */
// biome-ignore lint/suspicious/noExplicitAny: the wrong type is the point
const wrong = (options: object): any => options;

describe('an unknown option is a TypeError that names the nearest one:', () => {
  test.each([
    [
      'TokenBucket.create',
      () => TokenBucket.create(wrong({ rate: 1, bursts: 1 })),
      'bursts',
      'burst',
    ],
    ['LeakyBucket.create', () => LeakyBucket.create(wrong({ rate: 1, slac: 1 })), 'slac', 'slack'],
    ['LeakyBucket with burst', () => LeakyBucket.create(wrong({ rate: 1, burst: 9 })), 'burst', ''],
    [
      'FixedWindow.create',
      () => FixedWindow.create(wrong({ limit: 1, interval: 5 })),
      'interval',
      '',
    ],
    ['SlidingWindow.create', () => SlidingWindow.create(wrong({ slot: 1 })), 'slot', 'slots'],
    ['SlidingLog.create', () => SlidingLog.create(wrong({ limits: 1 })), 'limits', 'limit'],
    ['Sometimes.create', () => Sometimes.create(wrong({ evry: 1 })), 'evry', 'every'],
    ['Semaphore.create', () => Semaphore.create(wrong({ permit: 1 })), 'permit', 'permits'],
    ['KeyedTokenBucket.create', () => KeyedTokenBucket.create(wrong({ cap: 1 })), 'cap', ''],
    ['KeyedFixedWindow', () => KeyedFixedWindow.create(wrong({ limits: 1 })), 'limits', 'limit'],
    ['Region.create', () => Region.create(wrong({ byte: 1 })), 'byte', 'bytes'],
    ['ManualClock.create', () => ManualClock.create(wrong({ nowms: 1 })), 'nowms', 'nowMs'],
    ['TickerClock.create', () => TickerClock.create(wrong({ period: 1 })), 'period', 'periodMs'],
    ['reserve', () => bucket.reserve(1, wrong({ maxWait: 1 })), 'maxWait', 'maxWaitMs'],
    ['wait', () => bucket.wait(1, wrong({ timeout: 5 })), 'timeout', 'timeoutMs'],
    ['waitSync', () => window.waitSync(1, wrong({ Strict: true })), 'Strict', 'strict'],
    ['waitSync of a bucket', () => bucket.waitSync(1, wrong({ maxWaiting: 0 })), 'maxWaiting', ''],
    ['waitSync of a window', () => window.waitSync(1, wrong({ signal: null })), 'signal', ''],
    ['waitSync of allOf', () => allOf(window).waitSync(1, wrong({ signal: null })), 'signal', ''],
    [
      'waitSync of a lease',
      () => bucket.lease({ size: 1 }).waitSync(1, wrong({ signal: null })),
      'signal',
      '',
    ],
    [
      'waitSync of keys',
      () =>
        KeyedTokenBucket.create({ rate: 1, burst: 1, capacity: 9 }).waitSync(
          'ann',
          1,
          wrong({ maxWaiting: 0 }),
        ),
      'maxWaiting',
      '',
    ],
    ['lease', () => bucket.lease(wrong({ sise: 5 })), 'sise', 'size'],
    ['reconfigure', () => bucket.reconfigure(wrong({ rat: 5 })), 'rat', 'rate'],
    [
      'headers',
      () => rateLimitHeaders(window.decide(), wrong({ policies: '' })),
      'policies',
      'policy',
    ],
  ])('%s', async (_, call, name, close) => {
    const failed = await Promise.resolve()
      .then(call)
      .catch((error) => error);
    expect(failed).toBeInstanceOf(TypeError);
    expect(failed.message).toContain(`has no option "${name}"`);
    if (close !== '') expect(failed.message).toMatch(new RegExp(`did you mean ${close}\\?$`));
  });

  test('or the class of an object in place of options', () => {
    const square = (n: number) => n * n;
    expect(() => throttled(square, wrong(bucket))).toThrow(
      'options has no option "clock"; it is a TokenBucket',
    );
    expect(() => throttled(square, wrong({ a: 1 }))).toThrow(/"a"$/);
    for (const odd of [null, 5, { name: 5 }]) {
      expect(() => throttled(square, wrong({ constructor: odd }))).toThrow(/"constructor"$/);
    }
  });

  test('takes nothing and changes nothing', () => {
    expect(() => bucket.waitSync(5, wrong({ timeout: 0 }))).toThrow(TypeError);
    expect(() => bucket.reconfigure(wrong({ rate: 1, brust: 1 }))).toThrow(/^limit has no option/);
    expect([bucket.available(), bucket.rate]).toEqual([5, 10]);
  });

  test('leaves properties of a prototype alone, and cuts long names', () => {
    const options = Object.create({ inherited: 1 }, { rate: { value: 1 } });
    expect(() => TokenBucket.create(options)).toThrow(/^burst must be/);
    expect(() => TokenBucket.create(wrong({ ['x'.repeat(1000)]: 1 }))).toThrow(/^.{0,120}$/);
  });
});

/** The code of the error, `done` if there is none, or `waits` if the call does for long. */
function codeOf(call: Promise<unknown>): Promise<unknown> {
  const ended = call.then(
    () => 'done',
    ({ code }) => code,
  );
  return Promise.race([ended, setTimeout(500, 'waits')]);
}

/** The message of the error that a call throws. */
function messageOf(call: () => unknown): unknown {
  try {
    return call();
  } catch (error) {
    return (error as Error).message;
  }
}

const tiers = { pro: { rate: 1, burst: 1 } };
const keyed = () => KeyedTokenBucket.create({ rate: 1, burst: 1, tiers, capacity: 4 });
const TIMEOUT = 'ERR_RATE_LIMIT_TIMEOUT';

describe('inherited options are as good as own ones:', () => {
  test.each<[name: string, options: object, use: (options: never) => unknown, result: unknown]>([
    [
      'a bucket changes its rate',
      { rate: 3 },
      (change) => {
        const changed = TokenBucket.create({ rate: 1, burst: 1 });
        changed.reconfigure(change);
        return changed.rate;
      },
      3,
    ],
    [
      'a leaky bucket its slack',
      { slack: 3 },
      (change) => {
        const changed = LeakyBucket.create({ rate: 1 });
        changed.reconfigure(change);
        return changed.slack;
      },
      3,
    ],
    [
      'a window its limit',
      { limit: 3 },
      (change) => {
        const changed = FixedWindow.create({ limit: 1, intervalMs: 1000 });
        changed.reconfigure(change);
        return changed.limit;
      },
      3,
    ],
    [
      'a set one of its limits',
      { rate: 3 },
      (limit) => {
        const changed = LimitSet.create({ limits: [{ rate: 1, burst: 1 }] });
        changed.reconfigure({ limits: [limit] });
        return changed.rate;
      },
      3,
    ],
    [
      'a name has its counters',
      { rate: 1, burst: 1, stats: true },
      (options) => TokenBucket.open(Region.create(), 'api', options).stats().admitted,
      0,
    ],
    [
      'a name of a semaphore has the bound and the range',
      { permits: { max: 3 }, adapt: 'aimd', holdMs: 50 },
      (options) => Semaphore.open(Region.create(), 'api', options).holdMs,
      50,
    ],
    [
      'run has its deadline',
      { timeoutMs: 0 },
      (options) => codeOf(Semaphore.create({ permits: 0 }).run(() => 1, options)),
      TIMEOUT,
    ],
    [
      'a wait under a tier has its deadline',
      { tier: 'pro', timeoutMs: 0 },
      (options) => {
        const table = keyed();
        table.tryConsume('ann');
        return codeOf(table.wait('ann', 1, options));
      },
      TIMEOUT,
    ],
    [
      'a reservation under a tier has its longest wait',
      { tier: 'pro', maxWaitMs: 0 },
      (options) => {
        const table = keyed();
        table.tryConsume('ann');
        return table.reserve('ann', 1, options);
      },
      undefined,
    ],
    [
      'a stream has its signal',
      { signal: AbortSignal.abort() },
      (options) => throttleStream(bucket, options).on('error', () => undefined).destroyed,
      true,
    ],
    [
      'a pool has the length of its queue',
      { maxQueue: 0 },
      (options) => {
        const one = { maxThreads: 1, concurrentTasksPerWorker: 1 };
        const pool = { run: async () => 1, destroy: async () => undefined, options: one };
        const empty = TokenBucket.create({ rate: 1, burst: 1, initial: 0 });
        return codeOf(throttledPool('pool', pool, empty, options).run(1, undefined));
      },
      'ERR_QUEUE_FULL',
    ],
    [
      'a gate of a load has its bound',
      { kind: 'errors', maxShare: 0.25 },
      (gate) => JSON.stringify(checkDriveOptions({ task: 'data:,', rate: 1, gates: [gate] }).gates),
      '[{"kind":"errors","maxShare":0.25}]',
    ],
    [
      'a target of a load has its socket',
      { url: 'http://localhost/', socketPath: '/tmp/socket' },
      (target) => checkDriveOptions({ target, rate: 1 }).transport?.socketPath,
      '/tmp/socket',
    ],
    [
      'a request that waits has the length of its queue',
      { limiter: TokenBucket.create({ rate: 1e-6, burst: 1, initial: 0 }), maxWaiting: 0 },
      (options) => codeOf(rateLimitedFetch(options)('http://localhost:1/')),
      'ERR_QUEUE_FULL',
    ],
    [
      'a plugin of fastify has its limiter',
      { limiter: bucket },
      (options) => fastifyPlugin({ addHook: () => undefined }, options),
      undefined,
    ],
    [
      'a name of a fleet has its stock',
      { source: bucketSource, stock: 3, maxAgeMs: Number.POSITIVE_INFINITY },
      async (options) => {
        const fleet = await FleetBucket.open(Region.create(), 'hot', options);
        await fleet.close();
        return fleet.limit;
      },
      3,
    ],
    [
      'a sampler of the environment has its choices',
      { children: 'decided' },
      (options) => {
        vi.stubEnv('ZEROTIME_TRACES_PER_SECOND', '5');
        onTestFinished(() => void vi.unstubAllEnvs());
        return messageOf(() => samplerFrom(undefined, options));
      },
      'children must be "follow" or "decide", got "decided"',
    ],
  ])('%s', async (_, options, use, result) => {
    const known = [options, Object.create(options)].map((each) => use(each as never));
    expect(await Promise.all(known)).toEqual([result, result]);
  });
});

describe('null is no omitted option, but of the wrong kind:', () => {
  const options = { rate: 10, burst: 5, capacity: 4, tiers };
  const table = KeyedTokenBucket.create(options);
  const counts = KeyedFixedWindow.create({ limit: 1, intervalMs: 1000, capacity: 4 });
  const max = Number.POSITIVE_INFINITY;

  test.each<[name: string, call: () => unknown]>([
    ['burst', () => TokenBucket.create(wrong({ rate: max, burst: null }))],
    ['rate', () => table.reconfigure(wrong({ rate: null }))],
    ['burst', () => table.reconfigure(wrong({ burst: null }))],
    ['tiers.pro.rate', () => table.reconfigure({ tiers: { pro: wrong({ rate: null }) } })],
    ['limit', () => counts.reconfigure(wrong({ limit: null }))],
    ['maxPermits', () => Semaphore.create(wrong({ permits: 1, maxPermits: null }))],
    [
      'permits.initial',
      () => Semaphore.create({ adapt: 'aimd', permits: wrong({ max: 5, initial: null }) }),
    ],
    ['bytes', () => Region.create(wrong({ bytes: null }))],
    ['burst', () => ConsistentRateLimitingSampler.create(wrong({ rate: 1, burst: null }))],
    [
      'smoothingMs',
      () => ConsistentRateLimitingSampler.create(wrong({ rate: 1, smoothingMs: null })),
    ],
    [
      'minimumBurst',
      () =>
        ConsistentRateLimitingSampler.create(wrong({ rate: 1, minimum: 1, minimumBurst: null })),
    ],
    ['timeoutMs', () => checkDriveOptions(wrong({ task: 'data:,', rate: 1, timeoutMs: null }))],
  ])('%s', (name, call) => {
    expect(call).toThrow(TypeError);
    expect(messageOf(call)).toMatch(new RegExp(`^${name} must be .*, got null$`));
  });
});
