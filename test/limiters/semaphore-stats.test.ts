import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { describe, expect, onTestFinished, test } from 'vitest';
import { ManualClock, RateLimitError, Semaphore, type SemaphoreOptions } from '../../src/index.ts';
import { ask, hostRegion, startProcesses } from '../support/host.ts';
import { handleFor, KERNEL_MIXES } from '../support/kernels.ts';

const TARGETS = ['wasm', 'atomics'] as const;

/** Blocks in `acquireSync` of a thread of its own. */
const BLOCKED = `
  const { parentPort, workerData } = require('node:worker_threads');
  import(workerData.module).then(({ Semaphore }) => {
    const permit = Semaphore.attach(workerData.handle).acquireSync(2);
    parentPort.postMessage(permit?.n);
  });`;
const MODULE = new URL('../../dist/src/index.js', import.meta.url).href;

/** Resolves when `count` callers of all threads and processes wait. */
async function waiting(semaphore: Semaphore, count: number): Promise<void> {
  while (semaphore.waiting < count) await new Promise(setImmediate);
}

describe.each(TARGETS)('the counts of a semaphore, with kernel %s,', (kernel) => {
  const create = (options: SemaphoreOptions) =>
    Semaphore.create({ kernel, stats: true, ...options });
  const countsOf = (semaphore: Semaphore) => {
    const { calls, admitted, refused } = semaphore.stats();
    return [calls, admitted, refused];
  };

  test('have a call that waits as admitted, once it has its permits', async () => {
    const semaphore = create({ permits: 3 });
    const held = await semaphore.acquire(3);
    expect(countsOf(semaphore)).toEqual([1, 3, 0]);
    const first = semaphore.acquire(2);
    const second = semaphore.acquire();
    expect(countsOf(semaphore)).toEqual([1, 3, 0]);
    expect(semaphore.stats().waiting).toBe(2);
    held.release();
    await Promise.all([first, second]);
    expect(countsOf(semaphore)).toEqual([3, 6, 0]);
  });

  test('have a call that ends without permits as refused', async () => {
    const clock = ManualClock.create();
    const semaphore = create({ permits: 1, clock });
    semaphore.tryAcquire();
    expect(semaphore.tryAcquire()).toBeUndefined();
    expect(countsOf(semaphore)).toEqual([2, 1, 1]);

    const code = (reason: { readonly code?: string; readonly name: string }) =>
      reason.code ?? reason.name;
    const late = semaphore.acquire(1, { timeoutMs: 10 }).catch(code);
    clock.advance(10);
    expect(await late).toBe('ERR_RATE_LIMIT_TIMEOUT');
    expect(countsOf(semaphore)).toEqual([3, 1, 2]);

    const abort = new AbortController();
    const aborted = semaphore.acquire(1, { signal: abort.signal }).catch(() => 'aborted');
    abort.abort();
    expect(await aborted).toBe('aborted');
    expect(countsOf(semaphore)).toEqual([4, 1, 3]);

    expect(await semaphore.acquire(1, { timeoutMs: 0 }).catch(code)).toBe('ERR_RATE_LIMIT_TIMEOUT');
    expect(await semaphore.acquire(1, { maxWaiting: 0 }).catch(code)).toBe('ERR_QUEUE_FULL');
    expect(await semaphore.acquire(2).catch(code)).toBe('ERR_EXCEEDS_BURST');
    expect(countsOf(semaphore)).toEqual([7, 1, 6]);

    expect(semaphore.acquireSync(1, { timeoutMs: 0 })).toBeUndefined();
    expect(() => semaphore.acquireSync(2)).toThrow(RateLimitError);
    expect(countsOf(semaphore)).toEqual([9, 1, 8]);
  });

  test('leave out a call that was aborted before, and one that is misuse', async () => {
    const semaphore = create({ permits: 1 });
    await expect(semaphore.acquire(1, { signal: AbortSignal.abort() })).rejects.toThrow();
    await expect(semaphore.acquire(0)).rejects.toThrow(RangeError);
    expect(() => semaphore.tryAcquire(0.5)).toThrow(RangeError);
    expect(countsOf(semaphore)).toEqual([0, 0, 0]);
  });

  test('have each call once where permits that are overdue come back within it', () => {
    const clock = ManualClock.create();
    const semaphore = create({ permits: 1, holdMs: 5, clock });
    semaphore.tryAcquire();
    expect(semaphore.tryAcquire()).toBeUndefined();
    clock.advance(5);
    expect(semaphore.tryAcquire()?.n).toBe(1);
    expect(countsOf(semaphore)).toEqual([3, 2, 1]);
  });
});

describe('the counts of all threads and processes', () => {
  test.each(KERNEL_MIXES)('have a thread that blocked once, as admitted: $mix', async (mix) => {
    const semaphore = Semaphore.create({ permits: 2, stats: true });
    const held = semaphore.tryAcquire(2);
    const handle = handleFor(semaphore.handle, mix.kernels, 1);
    const worker = new Worker(BLOCKED, { eval: true, workerData: { module: MODULE, handle } });
    onTestFinished(async () => void (await worker.terminate()));
    await waiting(semaphore, 1);
    const granted = once(worker, 'message');
    held?.release();
    expect(await granted).toEqual([2]);
    expect(semaphore.stats()).toMatchObject({ calls: 2, admitted: 4, refused: 0, waiting: 0 });
  });

  test('have processes that waited once each, as admitted', async () => {
    const region = hostRegion();
    const semaphore = Semaphore.open(region, 'permits', { permits: 3, stats: true });
    const [waiter, blocked] = await startProcesses('host-user', 2);
    if (waiter === undefined || blocked === undefined) return;
    const held = semaphore.tryAcquire(3);
    const granted = [
      ask(waiter, { acquire: region.path }),
      ask(blocked, { acquireSync: region.path }),
    ];
    await waiting(semaphore, 2);
    held?.release();
    expect(await Promise.all(granted)).toEqual([{ result: 1 }, { result: 1 }]);
    expect(semaphore.stats()).toMatchObject({ calls: 3, admitted: 5, refused: 0 });
  });
});
