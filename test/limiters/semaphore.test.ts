import { inspect } from 'node:util';
import { describe, expect, test } from 'vitest';
import {
  attach,
  HandleError,
  ManualClock,
  Region,
  Semaphore,
  type SemaphoreOptions,
} from '../../src/index.ts';

const TARGETS = ['wasm', 'atomics'] as const;

/** Runs everything that is due: promises, and the bells of this thread. */
async function turns(): Promise<void> {
  for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve));
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

  test('gives out as many permits as it has, and those that came back', () => {
    const semaphore = create({ permits: 3 });
    const two = semaphore.tryAcquire(2);
    expect(two?.n).toBe(2);
    expect(semaphore.tryAcquire(2)).toBeUndefined();
    const one = semaphore.tryAcquire();
    expect([semaphore.available(), semaphore.inUse()]).toEqual([0, 3]);
    two?.release();
    expect(semaphore.available()).toBe(2);
    one?.release();
    expect(semaphore.tryAcquire(3)?.n).toBe(3);
  });

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
    await turns();
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

  test('refuses a second release, and takes a permit back once', () => {
    const semaphore = create({ permits: 1 });
    const permit = semaphore.tryAcquire();
    permit?.release();
    expect(() => permit?.release()).toThrow(
      expect.objectContaining({ code: 'ERR_PERMIT_RELEASED' }),
    );
    permit?.[Symbol.dispose]();
    expect(semaphore.available()).toBe(1);
  });

  test('takes permits back at the end of a block', async () => {
    const semaphore = create({ permits: 1 });
    {
      using permit = await semaphore.acquire();
      expect([permit.n, semaphore.available()]).toEqual([1, 0]);
    }
    expect(semaphore.available()).toBe(1);
    {
      await using _ = await semaphore.acquire();
      expect(semaphore.available()).toBe(0);
    }
    expect(semaphore.available()).toBe(1);
  });

  test('runs functions, at most as many at once as there are permits', async () => {
    const semaphore = create({ permits: 3 });
    let inside = 0;
    let most = 0;
    const run = (i: number) =>
      semaphore.run(async () => {
        most = Math.max(most, ++inside);
        await turns();
        inside--;
        return i;
      });
    expect(await Promise.all([1, 2, 3, 4, 5, 6, 7, 8].map(run))).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
    expect(most).toBe(3);
    const fail = () => {
      throw new Error('no');
    };
    await expect(semaphore.run(fail, { n: 2 })).rejects.toThrow('no');
    expect(semaphore.available()).toBe(3);
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

  test('grants added permits at once, and after a reduction waits until enough are back', async () => {
    const semaphore = create({ permits: 2, maxPermits: 10 });
    const held = [semaphore.tryAcquire(), semaphore.tryAcquire()];
    const third = semaphore.acquire();
    semaphore.reconfigure({ permits: 3 });
    held.push(await third);
    semaphore.reconfigure({ permits: 1 });
    expect([semaphore.permits, semaphore.available(), semaphore.inUse()]).toEqual([1, 0, 3]);
    const next = semaphore.acquire();
    held.pop()?.release();
    held.pop()?.release();
    await turns();
    expect([semaphore.waiting, semaphore.inUse()]).toEqual([1, 1]);
    held.pop()?.release();
    await next;
    expect(() => semaphore.reconfigure({ permits: 11 })).toThrow('permits must be an integer');
  });

  test('pauses without permits, and throws for callers that no longer fit', async () => {
    const semaphore = create({ permits: 0, maxPermits: 5 });
    const wait = semaphore.acquire(3);
    const more = expect(semaphore.acquire(5)).rejects.toThrow('n must be at most ');
    await turns();
    expect(semaphore.waiting).toBe(2);
    semaphore.reconfigure({ permits: 4 });
    expect((await wait).n).toBe(3);
    await more;
    expect([semaphore.waiting, semaphore.available()]).toEqual([0, 1]);
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
    held?.release();
    await Promise.all(waits);
    expect(order).toEqual(Array.from({ length: callers }, (_, i) => i));
    expect([semaphore.waiting, semaphore.available()]).toEqual([0, 1]);
  });

  test('counts its calls if asked to', async () => {
    const semaphore = create({ permits: 2, stats: true });
    semaphore.tryAcquire(2);
    semaphore.tryAcquire();
    expect(semaphore.stats()).toEqual({
      calls: 2,
      admitted: 2,
      refused: 1,
      lostRaces: 0,
      waiting: 0,
    });
    expect(() => create({ permits: 1 }).stats()).toThrow('stats: true');
  });

  test('shows itself in logs', () => {
    const semaphore = create({ permits: 3, holdMs: 50 });
    semaphore.tryAcquire(2);
    expect(inspect(semaphore)).toBe('Semaphore { permits: 3, inUse: 2, holdMs: 50 }');
    expect(`${create({ permits: 1 })}`).toBe('Semaphore { permits: 1, inUse: 0 }');
  });

  test('lies in a region, and is found by its handle only', () => {
    const region = Region.create();
    const semaphore = create({ permits: 3, region });
    expect(semaphore.handle.memory).toBe(region.handle.memory);
    expect(attach(semaphore.handle).permits).toBe(3);
    expect(() => Semaphore.attach({ ...semaphore.handle, offset: 128 })).toThrow(HandleError);
    region.i32.fill(7, semaphore.handle.offset / 4 + 6, semaphore.handle.offset / 4 + 14);
    expect(() => Semaphore.attach(semaphore.handle)).toThrow('configuration is invalid');
  });
});
