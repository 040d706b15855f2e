import { EventEmitter } from 'node:events';
import { describe, expect, test, vi } from 'vitest';
import { ManualClock, RateLimitError, Semaphore, type SemaphoreOptions } from '../../src/index.ts';
import { expectSame } from '../support/quick.ts';
import { settled } from '../support/settled.ts';

const BUSY = new RateLimitError('ERR_RECONFIGURE_BUSY', 'too many callers hold permits or wait');
const TARGETS = ['wasm', 'atomics'] as const;

/** Blocked threads sleep by moving the clock. Returns when they wake, in milliseconds from now. */
function sleepsOf(clock: ManualClock): () => number[] {
  const startUs = clock.now();
  const sleeps = vi.spyOn(clock, 'sleepSync').mockImplementation((untilUs, options) => {
    expect(options?.event).toBeDefined();
    clock.set(untilUs / 1000);
  });
  return () => sleeps.mock.calls.map(([untilUs]) => (untilUs - startUs) / 1000);
}

describe.each(TARGETS)('a semaphore, with kernel %s,', (kernel) => {
  const create = (options: SemaphoreOptions) => Semaphore.create({ kernel, ...options });

  /** Starts a wait, and notes when it ends. */
  function waitFor(semaphore: Semaphore, n: number, order: number[], options = {}) {
    return semaphore.acquire(n, options).then((permit) => {
      order.push(n);
      return permit;
    });
  }

  // docs/outgoing.md: "Permits are served in order across all threads."
  test('has one count and one queue for all objects on a handle', async () => {
    const semaphore = create({ permits: 2 });
    const other = Semaphore.attach(structuredClone(semaphore.handle));
    const held = [semaphore.tryAcquire(), other.tryAcquire()];
    const order: number[] = [];
    const first = waitFor(other, 1, order);
    const second = waitFor(other, 2, order);
    const third = waitFor(semaphore, 1, order);
    expect([semaphore.waiting, other.waiting]).toEqual([3, 3]);
    held[0]?.release();
    held[1]?.release();
    (await first).release();
    (await second).release();
    await third;
    expect(order).toEqual([1, 2, 1]);
  });

  test('ends a wait at its timeout, and takes nothing', async () => {
    const clock = ManualClock.create();
    const semaphore = create({ permits: 2, clock });
    const held = semaphore.tryAcquire();
    const late = expect(semaphore.acquire(2, { timeoutMs: 100 })).rejects.toThrow(
      expect.objectContaining({ code: 'ERR_RATE_LIMIT_TIMEOUT' }),
    );
    const behind = semaphore.acquire(1, { timeoutMs: 200 });
    clock.advance(99);
    await settled();
    expect(semaphore.waiting).toBe(2);
    clock.advance(1);
    await late;
    // The one behind fits, as soon as the first has gone.
    expect((await behind).n).toBe(1);
    await expect(semaphore.acquire(1, { timeoutMs: 0 })).rejects.toThrow('timeoutMs = 0');
    held?.release();
    expect(semaphore.available()).toBe(1);
  });

  test('ends a wait on an abort, and takes nothing', async () => {
    const semaphore = create({ permits: 1 });
    const held = semaphore.tryAcquire();
    const signal = AbortSignal.abort(new Error('enough'));
    const { reason } = signal;
    await expect(semaphore.acquire(1, { signal })).rejects.toBe(reason);
    const controller = new AbortController();
    const wait = semaphore.acquire(1, { signal: controller.signal });
    controller.abort(reason);
    await expect(wait).rejects.toBe(reason);
    held?.release();
    expect(semaphore.available()).toBe(1);
    // Granted and aborted in one turn.
    const second = semaphore.tryAcquire();
    const both = new AbortController();
    const aborted = semaphore.acquire(1, { signal: both.signal });
    second?.release();
    both.abort(reason);
    await expect(aborted).rejects.toBe(reason);
    expect(semaphore.available()).toBe(1);
  });

  test('refuses a caller beyond maxWaiting, and one that asks for more than there are', async () => {
    const semaphore = create({ permits: 1 });
    const held = semaphore.tryAcquire();
    const wait = semaphore.acquire();
    await expect(semaphore.acquire(1, { maxWaiting: 1 })).rejects.toThrow(
      expect.objectContaining({ code: 'ERR_QUEUE_FULL' }),
    );
    const tooMany = expect.objectContaining({ code: 'ERR_EXCEEDS_BURST' });
    await expect(semaphore.acquire(2)).rejects.toThrow(tooMany);
    expect(() => semaphore.acquireSync(2)).toThrow(tooMany);
    expect(semaphore.tryAcquire(2)).toBeUndefined();
    held?.release();
    await wait;
  });

  test('blocks until permits are there, or returns undefined', () => {
    const clock = ManualClock.create();
    const semaphore = create({ permits: 1, clock });
    const held = semaphore.acquireSync();
    expect(semaphore.acquireSync(1, { timeoutMs: 0 })).toBeUndefined();
    expect(semaphore.waiting).toBe(0);
    held?.release();
    expect(semaphore.acquireSync()?.n).toBe(1);
  });

  // [milliseconds until the timeout, when it looks, from now on]
  test.each([
    [300, [300]],
    [2500, [1000, 2000, 2500]],
  ])('blocks for %d ms at most, and looks at %j ms', (timeoutMs, looks) => {
    const clock = ManualClock.create();
    const semaphore = create({ permits: 1, clock });
    const held = semaphore.tryAcquire();
    const sleeps = sleepsOf(clock);
    expect(semaphore.acquireSync(1, { timeoutMs })).toBeUndefined();
    expect(sleeps()).toEqual(looks);
    expect(semaphore.waiting).toBe(0);
    held?.release();
    expect([semaphore.available(), semaphore.inUse()]).toEqual([1, 0]);
  });

  test('blocks until a permit that is held too long comes back', () => {
    const clock = ManualClock.create();
    const semaphore = create({ permits: 1, holdMs: 100, clock });
    semaphore.tryAcquire();
    const sleeps = sleepsOf(clock);
    expect(semaphore.acquireSync(1, { timeoutMs: 300 })?.n).toBe(1);
    expect([sleeps(), semaphore.inUse()]).toEqual([[100], 1]);
  });

  test('blocks for 10 ms at a time while the queue has no room', async () => {
    const clock = ManualClock.create();
    const semaphore = create({ permits: 1, maxPermits: 1, clock });
    semaphore.tryAcquire();
    const stop = new AbortController();
    const waits = Array.from({ length: 700 }, () =>
      semaphore.acquire(1, { signal: stop.signal }).catch((reason: unknown) => reason),
    );
    const sleeps = sleepsOf(clock);
    expect(semaphore.acquireSync(1, { timeoutMs: 25 })).toBeUndefined();
    expect(sleeps()).toEqual([10, 20, 25]);
    stop.abort('enough');
    await Promise.all(waits);
  });

  test('has no caller fall behind when the queue has no room', async () => {
    const semaphore = create({ permits: 1, maxPermits: 1 });
    const held = semaphore.tryAcquire();
    const order: number[] = [];
    const callers = 700;
    const waits = Array.from({ length: callers }, async (_, i) => {
      const permit = await semaphore.acquire();
      order.push(i);
      permit.release();
    });
    expect(semaphore.waiting).toBe(callers);
    expect(semaphore.tryAcquire()).toBeUndefined();
    expect(() => semaphore.reconfigure({ permits: 0 })).toThrow(BUSY);
    held?.release();
    await Promise.all(waits);
    expect(order).toEqual(Array.from({ length: callers }, (_, i) => i));
    expect([semaphore.waiting, semaphore.available()]).toEqual([0, 1]);
  });

  test('keeps its number and range when the queue has no room for another', () => {
    const semaphore = create({ permits: { max: 2, initial: 1 }, maxPermits: 2, adapt: 'aimd' });
    semaphore.tryAcquire();
    const stop = new AbortController();
    const waits = Array.from({ length: 700 }, () =>
      semaphore.acquire(1, { signal: stop.signal }).catch((reason: unknown) => reason),
    );
    expect(() => semaphore.reconfigure({ permits: { min: 2, max: 2 } })).toThrow(BUSY);
    expect(semaphore.permits).toBe(1);
    expect(semaphore.adaptation).toMatchObject({ min: 1, max: 2 });
    semaphore.reconfigure({ permits: { min: 1, max: 2 } });
    stop.abort('enough');
    return Promise.all(waits);
  });
});

test('any number of semaphores watch a worker with one listener', () => {
  const worker = Object.assign(new EventEmitter(), { threadId: 5 });
  for (let count = 0; count < 11; count++) Semaphore.create({ permits: 1 }).watch(worker);
  expect(worker.listenerCount('exit')).toBe(1);
  worker.emit('exit');
});

// docs/permits.md: "At most 512 callers can hold permits"
test.each([
  [128, 512],
  [200, 1024],
])('with %d permits the queue has room for %d callers', async (maxPermits, room) => {
  const semaphore = Semaphore.create({ permits: 1, maxPermits });
  semaphore.tryAcquire();
  const stop = new AbortController();
  const wait = () => semaphore.acquire(1, { signal: stop.signal }).catch((reason) => reason);
  const waits = Array.from({ length: room - 2 }, wait);
  // One room is left: a change of permits needs it too.
  semaphore.reconfigure({ permits: 1 });
  waits.push(wait());
  expect(() => semaphore.reconfigure({ permits: 1 })).toThrow(BUSY);
  stop.abort('enough');
  expect(new Set(await Promise.all(waits))).toEqual(new Set(['enough']));
});

// docs/permits.md: "At most 512 callers can hold permits"
test('no permit is available while 8,192 callers hold permits, however many permits are left', () => {
  const semaphore = Semaphore.create({ permits: 65_535 });
  const permits = [];
  for (let permit = semaphore.tryAcquire(); permit; permit = semaphore.tryAcquire()) {
    expectSame(semaphore.available(), 65_535 - permits.push(permit));
    if (permits.length === 8191) break;
  }
  const last = semaphore.tryAcquire(50_000);
  expect(last?.n).toBe(50_000);
  expect([semaphore.available(), semaphore.inUse()]).toEqual([0, 58_191]);
  expect(semaphore.tryAcquire()).toBeUndefined();
  permits.pop()?.release();
  expect(semaphore.available()).toBe(65_535 - 58_190);
  expect(semaphore.tryAcquire(65_535 - 58_190)?.n).toBe(65_535 - 58_190);
});
