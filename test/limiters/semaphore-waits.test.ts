import { describe, expect, test } from 'vitest';
import {
  attach,
  ManualClock,
  RateLimitError,
  Semaphore,
  type SemaphoreOptions,
} from '../../src/index.ts';
import { settled } from '../support/settled.ts';

const BUSY = new RateLimitError('ERR_RECONFIGURE_BUSY', 'too many callers hold permits or wait');
const TARGETS = ['wasm', 'atomics'] as const;

describe.each(TARGETS)('a semaphore, with kernel %s,', (kernel) => {
  const create = (options: SemaphoreOptions) => Semaphore.create({ kernel, ...options });

  /** Starts a wait, and notes when it ends. */
  function waitFor(semaphore: Semaphore, n: number, order: number[], options = {}) {
    return semaphore.acquire(n, options).then((permit) => {
      order.push(n);
      return permit;
    });
  }

  test('serves callers in order, even if a later one needs fewer permits', async () => {
    const semaphore = create({ permits: 3 });
    const held = semaphore.tryAcquire(3);
    const single = semaphore.tryAcquire();
    expect(single).toBeUndefined();
    const order: number[] = [];
    const waits = [3, 1, 2].map((n) => waitFor(semaphore, n, order));
    expect(semaphore.waiting).toBe(3);
    held?.release();
    const first = await waits[0];
    await settled(20);
    expect(order).toEqual([3]);
    first?.release();
    await Promise.all(waits);
    expect(order).toEqual([3, 1, 2]);
    expect(semaphore.waiting).toBe(0);
  });

  test('lets no caller overtake the queue, however many permits are available', async () => {
    const semaphore = create({ permits: 3 });
    const held = semaphore.tryAcquire(2);
    const waits = semaphore.acquire(3);
    expect(semaphore.available()).toBe(1);
    expect(semaphore.tryAcquire()).toBeUndefined();
    expect(attach(semaphore.handle).tryAcquire()).toBeUndefined();
    held?.release();
    (await waits).release();
    expect(semaphore.tryAcquire()).toBeDefined();
  });

  // docs/outgoing.md: "Permits are served in order across all threads."
  test('has one count and one queue for all objects on a handle', async () => {
    const semaphore = create({ permits: 2 });
    const other = Semaphore.attach(structuredClone(semaphore.handle));
    const held = [semaphore.tryAcquire(), other.tryAcquire()];
    const order: number[] = [];
    const first = waitFor(other, 1, order);
    const second = waitFor(semaphore, 2, order);
    expect([semaphore.waiting, other.waiting]).toEqual([2, 2]);
    held[0]?.release();
    held[1]?.release();
    (await first).release();
    await second;
    expect(order).toEqual([1, 2]);
  });

  test('ends a wait at its timeout, and takes nothing', async () => {
    const clock = ManualClock.create();
    const semaphore = create({ permits: 2, clock });
    const held = semaphore.tryAcquire();
    const late = expect(semaphore.acquire(2, { timeoutMs: 100 })).rejects.toThrow(
      expect.objectContaining({ code: 'ERR_RATE_LIMIT_TIMEOUT' }),
    );
    const behind = semaphore.acquire(1, { timeoutMs: 200 });
    clock.advance(100);
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
    stop.abort('enough');
    return Promise.all(waits);
  });
});
