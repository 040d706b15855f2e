import { getEventListeners } from 'node:events';
import { describe, expect, test, vi } from 'vitest';
import {
  allOf,
  FixedWindow,
  type LimitedSemaphore,
  ManualClock,
  Semaphore,
  TokenBucket,
} from '../../src/index.ts';
import { settled } from '../support/settled.ts';

const TARGETS = ['wasm', 'atomics'] as const;

describe.each(TARGETS)('a semaphore and a bucket, with kernel %s,', (kernel) => {
  function create({ permits = 2, burst = 3, ...options }: Record<string, number> = {}) {
    const clock = ManualClock.create();
    const semaphore = Semaphore.create({ permits, clock, kernel, ...options });
    const bucket = TokenBucket.create({ rate: 10, burst, clock, kernel });
    return { clock, semaphore, bucket, both: allOf(semaphore, bucket) };
  }

  /** Nothing is out, and the bucket lacks `spent` tokens. */
  function expectSpent({ semaphore, bucket }: ReturnType<typeof create>, spent: number): void {
    expect([semaphore.inUse(), bucket.limit - bucket.available()]).toEqual([0, spent]);
  }

  test('takes a permit and tokens, or neither', () => {
    const made = create();
    const { both, semaphore, bucket } = made;
    expect(both.available()).toBe(2);
    const first = both.tryAcquire(2);
    expect([first?.n, bucket.available(), both.available(), both.inUse()]).toEqual([1, 1, 1, 1]);
    expect(both.tryAcquire(2)).toBeUndefined();
    expect([semaphore.inUse(), bucket.available()]).toEqual([1, 1]);
    const second = both.tryAcquire();
    expect(both.tryAcquire(0)).toBeUndefined();
    first?.release();
    second?.release();
    expectSpent(made, 3);
    expect(() => first?.release()).toThrow(
      expect.objectContaining({ code: 'ERR_PERMIT_RELEASED' }),
    );
  });

  test('leaves tokens that are there while it waits for a permit, and permits while it waits for tokens', async () => {
    const made = create({ permits: 1, burst: 1 });
    const { both, clock, semaphore, bucket } = made;
    const atOnce = both.acquire();
    expect(both.waiting).toBe(0);
    const first = await atOnce;
    const order: number[] = [];
    const waits = [1, 2].map((i) =>
      both.acquire().then((permit) => {
        order.push(i);
        return permit;
      }),
    );
    expect(both.waiting).toBe(2);
    clock.advance(100);
    await settled(20);
    // The permit is in use, so the token is left for callers that need no permit.
    expect([order, bucket.available()]).toEqual([[], 1]);
    const behind = semaphore.acquire().then((permit) => {
      order.push(9);
      return permit;
    });
    first.release();
    const second = await waits[0];
    expect(order).toEqual([1]);
    second?.release();
    (await behind).release();
    await settled(20);
    expect([order, semaphore.inUse()]).toEqual([[1, 9], 0]);
    clock.advance(100);
    (await waits[1])?.release();
    expect([order, both.waiting]).toEqual([[1, 9, 2], 0]);
    expectSpent(made, 1);
  });

  test('waits for tokens that others took before its permit came, without the permit', async () => {
    const made = create({ permits: 1, burst: 1 });
    const { both, clock, semaphore, bucket } = made;
    const held = semaphore.tryAcquire();
    const wait = both.acquire();
    await settled();
    expect(bucket.tryConsume()).toBe(true);
    held?.release();
    await settled(20);
    expect([semaphore.inUse(), both.waiting]).toEqual([0, 1]);
    clock.advance(100);
    (await wait).release();
    expectSpent(made, 1);
  });

  // [a free permit, whether waiting brings the tokens, a permit after that], what is taken
  test.each([
    [[true, true, true], 1],
    [[true, false, true], 0],
    [[true, true, false], 0],
    [[false, true, true], 0],
  ])('blocks for tokens that others took before its permit came: %j', ([first, come, then], n) => {
    const { both, semaphore, bucket } = create({ permits: 1, burst: 1 });
    const returned = vi.spyOn(bucket, 'returnTokens');
    vi.spyOn(bucket, 'tryConsume').mockReturnValue(false);
    vi.spyOn(bucket, 'waitSync').mockReturnValue(come as boolean);
    const free = [first, then];
    vi.spyOn(semaphore, 'acquireSync').mockImplementation(() =>
      free.shift() ? semaphore.tryAcquire() : undefined,
    );
    expect(both.acquireSync()?.n ?? 0).toBe(n);
    expect(semaphore.inUse()).toBe(n);
    expect(returned.mock.calls).toEqual(first && come && !then ? [[1]] : []);
  });

  test('holds both limits for calls that overlap', async () => {
    const { both, clock } = create({ permits: 2, burst: 1 });
    const starts: number[] = [];
    let inside = 0;
    const work = async () => {
      starts.push(clock.now() / 1000);
      expect(++inside).toBeLessThanOrEqual(2);
      await clock.sleep(clock.now() + 350_000);
      inside--;
    };
    const all = Promise.all(Array.from({ length: 6 }, () => both.run(work)));
    for (let step = 0; step < 40; step++) {
      await settled(20);
      clock.advance(50);
    }
    await all;
    const from = starts[0] ?? 0;
    // Two at 10 a second, then one whenever one of the two 350 ms ends.
    expect(starts.map((atMs) => atMs - from)).toEqual([0, 100, 350, 450, 700, 800]);
  });

  test('grants more than the burst of an unlimited bucket', async () => {
    const { both, bucket } = create({ permits: 1 });
    bucket.reconfigure({ rate: Number.POSITIVE_INFINITY });
    const first = both.acquireSync(10);
    const second = both.acquire(10);
    first?.release();
    expect((await second).n).toBe(1);
  });

  test('returns the permit if the tokens cannot come in time, or the wait is aborted', async () => {
    const made = create({ burst: 1 });
    const { both, clock } = made;
    (await both.acquire()).release();
    await expect(both.acquire(1, { timeoutMs: 99 })).rejects.toThrow(
      expect.objectContaining({ code: 'ERR_RATE_LIMIT_TIMEOUT' }),
    );
    await expect(both.acquire(1, { timeoutMs: 0 })).rejects.toThrow('timeoutMs = 0');
    await expect(both.acquire(2)).rejects.toThrow(
      expect.objectContaining({ code: 'ERR_EXCEEDS_BURST' }),
    );
    await expect(both.acquire(1, { maxWaiting: 0 })).rejects.toThrow(
      expect.objectContaining({ code: 'ERR_QUEUE_FULL' }),
    );
    expectSpent(made, 1);
    const controller = new AbortController();
    const aborted = both.acquire(1, { signal: controller.signal });
    await settled(20);
    expect(made.semaphore.inUse()).toBe(0);
    controller.abort(new Error('gone'));
    await expect(aborted).rejects.toThrow('gone');
    clock.advance(100);
    expectSpent(made, 0);
  });

  test('an attempt does not overtake a caller that waits for more tokens', async () => {
    const { both, bucket, clock } = create();
    bucket.tryConsume(2);
    const { signal } = new AbortController();
    const ahead = both.acquire(2, { signal });
    await expect(both.acquire(1, { maxWaiting: 1 })).rejects.toThrow('the queue is full');
    await settled();
    clock.advance(100);
    expect([(await ahead).n, bucket.available()]).toEqual([1, 0]);
    expect(getEventListeners(signal, 'abort')).toEqual([]);
  });

  test('counts the time for the permit against the timeout', async () => {
    const made = create({ permits: 1, burst: 1 });
    const { both, clock } = made;
    const held = await both.acquire();
    const late = expect(both.acquire(1, { timeoutMs: 80 })).rejects.toThrow(
      expect.objectContaining({ code: 'ERR_RATE_LIMIT_TIMEOUT' }),
    );
    clock.advance(50);
    held.release();
    await late;
    expectSpent(made, 0.5);
  });

  test('starts the holdMs of a permit when the tokens are there, however long that takes', async () => {
    const { both, bucket, clock } = create({ holdMs: 50, burst: 1 });
    bucket.tryConsume();
    const late = both.acquire();
    for (let ms = 0; ms < 100; ms += 10) {
      await settled();
      expect(both.inUse()).toBe(0);
      clock.advance(10);
    }
    const permit = await late;
    clock.advance(49);
    permit.release();
  });

  // docs/permits.md: "Callers of one object are served in order, and at most one"
  test('keeps the tokens of one caller at most while permits are short, and none is lost', async () => {
    const { both, bucket, clock, semaphore } = create({ permits: 1, burst: 1 });
    bucket.charge(2);
    const held = await semaphore.acquire();
    const end = new AbortController();
    const waits = [1, 2, 3].map(() => both.acquire(1, { signal: end.signal }));
    await settled();
    clock.advance(1000);
    await settled(20);
    expect([bucket.balance(), both.waiting, semaphore.waiting]).toEqual([1, 3, 1]);
    held.release();
    (await waits[0])?.release();
    (await waits[1])?.release();
    await settled(20);
    expect([bucket.balance(), semaphore.inUse(), semaphore.waiting]).toEqual([-1, 0, 0]);
    const last = both.acquire(1, { signal: end.signal });
    await settled(20);
    expect(bucket.balance()).toBe(-1);
    end.abort('enough');
    await expect(waits[2]).rejects.toBe('enough');
    await expect(last).rejects.toBe('enough');
    expect(bucket.balance()).toBe(0);
  });

  test('returns the tokens of a caller that gives up while it waits for a permit', async () => {
    for (const limit of ['bucket', 'window'] as const) {
      const { clock, semaphore, bucket } = create({ permits: 1, burst: 1 });
      const window = FixedWindow.create({ limit: 1, intervalMs: 100, clock, kernel });
      const limiter = limit === 'bucket' ? bucket : window;
      limiter.tryConsume();
      const both = allOf(semaphore, limiter);
      const held = await semaphore.acquire();
      const late = expect(both.acquire(1, { timeoutMs: 150 })).rejects.toThrow('timeoutMs = 150');
      await settled();
      clock.advance(100);
      await settled();
      expect([limiter.available(), semaphore.waiting]).toEqual([0, 1]);
      clock.advance(50);
      await late;
      expect([limiter.available(), semaphore.waiting]).toEqual([1, 0]);
      held.release();
    }
  });

  test('counts a call once, whatever it waits for', async () => {
    const clock = ManualClock.create();
    const semaphore = Semaphore.create({ permits: 1, clock, kernel, stats: true });
    const bucket = TokenBucket.create({ rate: 10, burst: 1, clock, kernel, stats: true });
    const both = allOf(semaphore, bucket);
    const counts = () =>
      [semaphore, bucket].map((one) => {
        const { calls, admitted, refused } = one.stats();
        return [calls, admitted, refused];
      });
    const first = await both.acquire();
    expect(counts()).toEqual([
      [1, 1, 0],
      [1, 1, 0],
    ]);
    const forPermit = both.acquire();
    first.release();
    await settled();
    clock.advance(100);
    (await forPermit).release();
    expect(counts()).toEqual([
      [2, 2, 0],
      [2, 2, 0],
    ]);
    const forTokens = both.acquire();
    await settled();
    clock.advance(100);
    const held = await forTokens;
    expect(counts()).toEqual([
      [3, 3, 0],
      [3, 3, 0],
    ]);
    const full = expect.objectContaining({ code: 'ERR_QUEUE_FULL' });
    const late = expect.objectContaining({ code: 'ERR_RATE_LIMIT_TIMEOUT' });
    await expect(both.acquire(1, { maxWaiting: 0 })).rejects.toThrow(full);
    await expect(both.acquire(1, { timeoutMs: 0 })).rejects.toThrow(late);
    // Neither got as far as the bucket.
    expect(counts()).toEqual([
      [5, 3, 2],
      [3, 3, 0],
    ]);
    held.release();
  });

  test('blocks for both', () => {
    const made = create({ permits: 1, burst: 1 });
    const { both, clock } = made;
    const held = both.acquireSync();
    expect(both.acquireSync(1, { timeoutMs: 0 })).toBeUndefined();
    held?.release();
    expect(both.acquireSync(1, { timeoutMs: 99 })).toBeUndefined();
    expect(() => both.acquireSync(2)).toThrow('n must be at most 1');
    expectSpent(made, 1);
    clock.advance(100);
    both.acquireSync(1, { timeoutMs: 0 })?.release();
    expectSpent(made, 1);
    vi.spyOn(clock, 'sleepSync').mockImplementation((untilUs) => clock.set(untilUs / 1000));
    both.acquireSync(1, { timeoutMs: 100 })?.release();
    expect(clock.nowMs).toBe(200);
    expectSpent(made, 1);
  });

  test('releases the permit of a function that throws, and keeps its error', async () => {
    const made = create();
    const fail = () => {
      throw new Error('no');
    };
    await expect(made.both.run(fail, { n: 2 })).rejects.toThrow('no');
    expectSpent(made, 2);
    vi.spyOn(made.bucket, 'tryConsume').mockImplementation(fail);
    expect(() => made.both.tryAcquire()).toThrow('no');
    expectSpent(made, 2);
  });

  test('combines with several limiters, and shows them', () => {
    const { semaphore, bucket, clock } = create();
    const window = FixedWindow.create({ limit: 1, intervalMs: 1000, clock, kernel });
    const all = allOf(semaphore, bucket, window);
    expect(all.tryAcquire()).toBeDefined();
    expect(all.tryAcquire()).toBeUndefined();
    expect([semaphore.inUse(), bucket.available()]).toEqual([1, 2]);
    expect(`${all}`).toContain('Semaphore');
    expect(`${all}`).toContain('FixedWindow');
  });

  test('rejects limiters that cannot be combined, and numbers that are none', async () => {
    const { semaphore, bucket, both } = create();
    const combine = allOf as (...parts: unknown[]) => LimitedSemaphore;
    expect(() => combine(semaphore)).toThrow('at least one limiter');
    expect(() => combine(bucket, semaphore)).toThrow('one semaphore at most');
    expect(() => combine(semaphore, semaphore, bucket)).toThrow('limiters[0]');
    expect(() => combine(both, bucket)).toThrow('limiters[0] must be a limiter');
    expect(() => combine(semaphore, TokenBucket.create({ rate: 1, burst: 1 }))).toThrow('clock');
    expect(() => combine(null)).toThrow('limiters[0] must be a limiter, got null');
    expect(() => both.tryAcquire(-1)).toThrow(/^n must be a number/);
    expect(() => both.acquireSync(-1)).toThrow(/^n must be a number/);
    await expect(both.acquire(-1)).rejects.toThrow(/^n must be a number/);
  });
});
