import { expect, it, vi } from 'vitest';
import {
  FixedWindow,
  LimitSet,
  ManualClock,
  type Permit,
  Semaphore,
  TokenBucket,
} from '../../src/index.ts';
import { throttle } from '../../src/integrations/tinypool.ts';
import { checkGuarantee } from '../../src/load/judge/guarantee.ts';
import { promiseToken } from '../../src/throttle/tokens.ts';
import { throttled } from '../../src/throttle.ts';
import { bucketOf } from '../support/manual-bucket.ts';
import { poolHere } from '../support/pools.ts';
import { settled, withResolvers } from '../support/settled.ts';

const TEN = { rate: 10, burst: 5 };

function scene(permits: number, burst = 1) {
  const clock = ManualClock.create();
  const limiter = TokenBucket.create({ rate: 10_000, burst, clock });
  return { clock, limiter, semaphore: Semaphore.create({ permits, maxPermits: 100, clock }) };
}

it.each([
  [
    'permits',
    ({ limiter, semaphore }: ReturnType<typeof scene>, start: () => void) =>
      throttled(start, { limiter, semaphore }),
  ],
  [
    'threads',
    ({ limiter }: ReturnType<typeof scene>, start: () => void) => {
      const pool = throttle(
        poolHere(2, async () => start()),
        limiter,
      );
      return () => pool.run({});
    },
  ],
])(
  'loses no token to looks that are 5 ms late, though there are fewer %s than tokens',
  async (_, make) => {
    const made = scene(2);
    const { clock } = made;
    let started = 0;
    const call = make(made, () => started++);
    const calls = Array.from({ length: 300 }, () => call());
    await settled(4);
    for (let late = 1; late <= 5; late++) {
      clock.advance(5);
      for (let turn = 0; turn < 30; turn++) await settled(4);
      expect(started).toBe(1 + 50 * late);
    }
    clock.advance(10);
    await Promise.all(calls);
  },
);

const NEVER = () => new Promise(() => undefined);

it.each([
  [1000, 'a pool with two free threads', poolHere(3, NEVER), undefined, -2],
  [2000, 'a pool with two free threads', poolHere(3, NEVER), undefined, -15],
  [1000, 'a pool that needs permits', poolHere(3, NEVER), 3, -7],
  [1000, 'a pool without bounds', poolHere(Number.POSITIVE_INFINITY, NEVER), undefined, -7],
])(
  'at %s a second, %s has tokens promised until the balance is low',
  async (rate, _, bare, permits, balance) => {
    const clock = ManualClock.create();
    const limiter = TokenBucket.create({ rate, burst: 1, clock });
    const semaphore = permits === undefined ? undefined : Semaphore.create({ permits, clock });
    const pool = throttle(bare, limiter, { semaphore });
    for (let task = 0; task < 20; task++) pool.run({});
    await settled(4);
    expect(limiter.balance()).toBe(balance);
  },
);

it('is one caller of a limiter that cannot reserve, however many threads are free', async () => {
  const limiter = FixedWindow.create({
    limit: 1,
    intervalMs: 10,
    clock: ManualClock.create(),
  });
  const pool = throttle(
    poolHere(3, () => new Promise(() => undefined)),
    limiter,
  );
  for (let task = 0; task < 20; task++) pool.run({});
  await settled(4);
  expect([pool.stats().running, limiter.waiting]).toEqual([1, 1]);
});

// docs/queues.md: "In any interval of t seconds at most burst + rate x t"
it('grants at most burst + rate x t, by the instants at which tokens are due', async () => {
  const { clock, limiter } = scene(1, 7);
  const grants: number[] = [];
  const { reserve } = limiter;
  limiter.reserve = (...args) => {
    const reservation = reserve.apply(limiter, args);
    if (reservation !== undefined) grants.push(reservation.atUs);
    return reservation;
  };
  const tryConsume = limiter.tryConsume.bind(limiter);
  limiter.tryConsume = (n) => {
    const isTaken = tryConsume(n);
    if (isTaken) grants.push(clock.now());
    return isTaken;
  };
  const starts: number[] = [];
  const call = throttled(() => void starts.push(clock.now()), { limiter });
  const calls = Array.from({ length: 400 }, () => call());
  for (let late = 0; late < 30; late++) {
    clock.advance(0.3 + (late % 5));
    await settled(4);
  }
  await Promise.all(calls);
  const instants = Float64Array.from(grants).sort();
  expect(instants).toHaveLength(400);
  expect(checkGuarantee(instants, 10_000, 7).held).toBe(true);
  expect(checkGuarantee(instants, 10_000, 6.5).held).toBe(false);
  for (const [i, startUs] of starts.entries()) {
    expect(startUs).toBeGreaterThanOrEqual(instants[i] as number);
  }
});

it('returns tokens promised ahead when no permit comes for them', async () => {
  const { clock, limiter, semaphore } = scene(2);
  const { promise, resolve } = withResolvers();
  const call = throttled(() => promise, { limiter, semaphore });
  const calls = Array.from({ length: 10 }, () => call());
  await settled(4);
  expect(limiter.balance()).toBe(-9);
  clock.advance(0.1);
  await settled(4);
  clock.advance(0.4);
  await settled(4);
  expect(call.stats()).toMatchObject({ running: 2, waiting: 8 });
  clock.advance(7.7);
  calls.push(call());
  await settled(4);
  expect(limiter.balance()).toBe(1); // no more are promised once one has been due for 8 ms
  clock.advance(2.3); // to the last look that it plans
  await settled(4);
  expect(limiter.balance()).toBe(1);
  resolve();
  await settled(4);
  expect(call.stats()).toMatchObject({ completed: 3, waiting: 8 }); // one token, not eight late ones
  while (call.queueSize > 0) {
    await settled(4);
    clock.advance(0.1);
  }
  await Promise.all(calls);
  expect(semaphore.inUse()).toBe(0);
});

it.each([
  ['a bucket', (clock: ManualClock) => TokenBucket.create({ ...TEN, initial: 0, clock })],
  [
    'a limit set',
    (clock: ManualClock) => LimitSet.create({ limits: [TEN, TEN], initial: 0, clock }),
  ],
])('a token of %s that was due when its call was aborted returns', (_, create) => {
  const clock = ManualClock.create();
  const limiter = create(clock);
  const ignored = () => undefined;
  const token = promiseToken(limiter, Number.POSITIVE_INFINITY, ignored, ignored);
  clock.advance(150);
  expect(limiter.balance()).toBe(0.5);
  token?.putBack();
  expect(limiter.balance()).toBe(1.5);
});

it('holds no permit of a shared semaphore for calls that wait for tokens', async () => {
  const { clock, limiter } = bucketOf(1000, 1);
  const semaphore = Semaphore.create({ permits: 50, clock });
  const call = throttled((n: number) => n, { limiter, semaphore });
  const calls = Array.from({ length: 40 }, (_, n) => call(n));
  await settled(4);
  expect(semaphore.inUse()).toBe(0);
  while (call.queueSize > 0) {
    clock.advance(1);
    await settled(4);
  }
  expect(await Promise.all(calls)).toHaveLength(40);
});

/** A semaphore whose requests a test answers. */
function answeredSemaphore() {
  const requests: (ReturnType<typeof withResolvers<Permit>> & { readonly signal: AbortSignal })[] =
    [];
  const acquire = (_: number, { signal }: { readonly signal: AbortSignal }) => {
    const request = { ...withResolvers<Permit>(), signal };
    requests.push(request);
    return request.promise;
  };
  const semaphore = { clock: ManualClock.create(), tryAcquire: () => undefined, acquire };
  return { requests, semaphore };
}

it('fails the first call if the semaphore fails, and asks it for the next', async () => {
  const { requests, semaphore } = answeredSemaphore();
  const call = throttled((n: number) => n, { semaphore });
  const calls = [call(1), call(2)];
  requests[0]?.reject(new Error('lost'));
  await expect(calls[0]).rejects.toThrow('lost');
  expect(requests).toHaveLength(2);
  expect(call.queueSize).toBe(1);
});

it.each([
  ['to the next call', 'ok', 1],
  ['back', 'ignore', 0],
])(
  'gives a permit %s that comes when its call has just been aborted',
  async (_, outcome, started) => {
    const { requests, semaphore } = answeredSemaphore();
    const stop = new AbortController();
    const call = throttled((n: number) => n, {
      semaphore,
      signal: (n) => (n === 1 ? stop.signal : undefined),
    });
    const waiting = call(1);
    const release = vi.fn();
    requests[0]?.resolve({ release } as unknown as Permit);
    stop.abort('too late');
    if (started > 0) expect(await call(2)).toBe(2);
    await expect(waiting).rejects.toBe('too late');
    expect(release.mock.calls).toEqual([[{ outcome }]]);
    expect(call.stats()).toMatchObject({ completed: started, waiting: 0 });
    expect(requests.map(({ signal }) => signal.aborted)).toEqual(requests.map(() => true));
  },
);

it('gives back a token that comes when its call has just been aborted', async () => {
  let grant: () => void = () => undefined;
  const limiter = {
    clock: ManualClock.create(),
    tryConsume: () => false,
    wait: () =>
      new Promise<void>((resolve) => {
        grant = resolve;
      }),
    returnTokens: vi.fn(),
  };
  const stop = new AbortController();
  const call = throttled(() => 1, { limiter, signal: stop.signal });
  const waiting = call();
  grant();
  stop.abort('too late');
  await expect(waiting).rejects.toBe('too late');
  expect(limiter.returnTokens.mock.calls).toEqual([[1]]);
});

it('lets a waiting key take its turns while 1,100 new keys come a second, at 1,000 starts', async () => {
  const { clock, limiter } = bucketOf(1000, 1, 0);
  const starts = new Map<string, number>();
  const call = throttled((key: string) => void starts.set(key, (starts.get(key) ?? 0) + 1), {
    limiter,
    key: (key) => key,
  });
  const pending = Array.from({ length: 100 }, () => call('waiting'));
  /** The keys as they would take turns. */
  const turns = ['waiting'];
  let expected = 0;
  let keys = 0;
  for (let ms = 1; ms <= 4000; ms++) {
    for (; keys < 1.1 * ms; keys++) {
      pending.push(call(`new ${keys}`));
      turns.push(`new ${keys}`);
    }
    clock.advance(1);
    while (call.stats().completed < ms) await new Promise(setImmediate);
    if (turns.shift() !== 'waiting') continue;
    expected++;
    turns.push('waiting');
  }
  expect(expected).toBeGreaterThan(30);
  expect(starts.get('waiting')).toBe(expected);
  const closed = call.close({ waiting: 'reject' });
  await Promise.allSettled([...pending, closed]);
});

it('does not spin while the clock reads less than the instant of a sleep that has ended', async () => {
  const manual = ManualClock.create();
  let lagUs = 0;
  let looks = 0;
  const clock = {
    name: 'manual',
    handle: manual.handle,
    sleepSync: manual.sleepSync.bind(manual),
    sleep: manual.sleep.bind(manual),
    now: () => {
      looks++;
      return manual.now() - lagUs;
    },
  };
  const limiter = TokenBucket.create({ rate: 100, burst: 1, clock });
  const call = throttled((n: number) => n, { limiter });
  await call(0);
  const calls = [call(1), call(2)];
  await settled(4);
  lagUs = 3000;
  manual.advance(10);
  looks = 0;
  await settled(4);
  await settled(4);
  expect(looks).toBeLessThan(100);
  expect(call.queueSize).toBe(1); // the token was due when the sleep ended
  manual.advance(20);
  await Promise.all(calls);
});
