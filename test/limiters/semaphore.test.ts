import { once } from 'node:events';
import { inspect } from 'node:util';
import { Worker } from 'node:worker_threads';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import {
  attach,
  HandleError,
  ManualClock,
  type Permit,
  RateLimitError,
  Region,
  Semaphore,
  type SemaphoreOptions,
} from '../../src/index.ts';
import { SEMAPHORE } from '../../src/memory/layout.ts';
import { ask, hostRegion, startProcesses } from '../support/host.ts';
import { handleFor, KERNEL_MIXES } from '../support/kernels.ts';
import { settled, until } from '../support/settled.ts';

const TARGETS = ['wasm', 'atomics'] as const;

describe.each(TARGETS)('a semaphore, with kernel %s,', (kernel) => {
  const create = (options: SemaphoreOptions) => Semaphore.create({ kernel, ...options });

  test('refuses a second release, and takes a permit back once', () => {
    const semaphore = create({ permits: 1 });
    const permit = semaphore.tryAcquire();
    permit?.release();
    const again = { code: 'ERR_PERMIT_RELEASED', message: 'the permit was released before' };
    expect(() => permit?.release()).toThrow(expect.objectContaining(again));
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

  // docs/permits.md: "At most 10 queries are in flight"
  test('runs functions, at most as many at once as there are permits', async () => {
    const semaphore = create({ permits: 3 });
    let inside = 0;
    let most = 0;
    const run = (i: number) =>
      semaphore.run(async () => {
        most = Math.max(most, ++inside);
        await settled(20);
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
    await settled(20);
    expect([semaphore.waiting, semaphore.inUse()]).toEqual([1, 1]);
    held.pop()?.release();
    await next;
    expect(() => semaphore.reconfigure({ permits: 11 })).toThrow('permits must be an integer');
  });

  test('pauses without permits, and throws for callers that no longer fit', async () => {
    const semaphore = create({ permits: 0, maxPermits: 5 });
    const wait = semaphore.acquire(3);
    const more = expect(semaphore.acquire(5)).rejects.toThrow('n must be at most ');
    await settled(20);
    expect(semaphore.waiting).toBe(2);
    semaphore.reconfigure({ permits: 4 });
    expect((await wait).n).toBe(3);
    await more;
    expect([semaphore.waiting, semaphore.available()]).toEqual([0, 1]);
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
    const invalid = expect.objectContaining({ code: 'ERR_HANDLE_INVALID' });
    expect(() => Region.attach(semaphore.handle as never)).toThrow(invalid);
    region.i32.fill(7, semaphore.handle.offset / 4 + 6, semaphore.handle.offset / 4 + 14);
    expect(() => Semaphore.attach(semaphore.handle)).toThrow('configuration is invalid');
  });
});

test.each<[options: unknown, error: typeof TypeError | typeof RangeError, message: string]>([
  [{}, TypeError, 'permits must be an integer at least 0 and at most 65535, got undefined'],
  [{ permits: 1.5 }, RangeError, 'permits must be an integer'],
  [{ permits: 65_536 }, RangeError, 'permits must be an integer'],
  [{ permits: 5, maxPermits: 4 }, RangeError, 'maxPermits must be an integer at least 5'],
  [{ permits: 5, holdMs: 0 }, RangeError, 'holdMs must be a number at least 1'],
  [{ permits: 5, permit: 1 }, TypeError, 'did you mean permits?'],
])('options %j throw', (options, error, message) => {
  const create = () => Semaphore.create(options as SemaphoreOptions);
  expect(create).toThrow(error);
  expect(create).toThrow(message);
});

test('arguments of the wrong type throw', async () => {
  const semaphore = Semaphore.create({ permits: 5 });
  expect(() => semaphore.tryAcquire(0)).toThrow(
    'n must be an integer at least 1 and at most 65535, got 0',
  );
  expect(() => semaphore.tryAcquire(2 ** 32 + 1)).toThrow('at most 65535');
  expect(() => semaphore.tryAcquire('1' as never)).toThrow(TypeError);
  await expect(semaphore.acquire(1.5)).rejects.toThrow(RangeError);
  await expect(semaphore.acquire(1, { timeout: 5 } as never)).rejects.toThrow('timeoutMs?');
  await expect(semaphore.run(5 as never)).rejects.toThrow('action must be a function, got 5');
  expect(() => semaphore.watch({} as never)).toThrow('worker must be a Worker');
  expect(() => Semaphore.open(Region.create(), 'a', null as never)).toThrow('options must be an');
  const ended = { threadId: -1, once: () => undefined };
  expect(() => semaphore.watch(ended)).toThrow('worker.threadId must be an integer at least 1');
  expect(() => semaphore.reconfigure({ permit: 1 } as never)).toThrow(
    'change has no option "permit"; did you mean permits?',
  );
});

test('watch throws if threads do not know their ids', () => {
  const semaphore = Semaphore.create({ permits: 1 });
  const worker = { threadId: 1, once: () => undefined };
  const known = process.getBuiltinModule;
  process.getBuiltinModule = undefined as never;
  try {
    expect(() => semaphore.watch(worker)).toThrow('requires Node.js 20.16');
  } finally {
    process.getBuiltinModule = known;
  }
});

describe.each(TARGETS)('a semaphore with holdMs, with kernel %s,', (kernel) => {
  const create = (options: SemaphoreOptions) => Semaphore.create({ kernel, ...options });
  test('takes a permit back that is held too long, and refuses its release', async () => {
    const clock = ManualClock.create();
    const semaphore = create({ permits: 2, holdMs: 100, clock });
    const permits = [semaphore.tryAcquire(), semaphore.tryAcquire()];
    clock.advance(99);
    permits[0]?.release();
    expect(semaphore.tryAcquire()).toBeDefined();
    expect(semaphore.tryAcquire()).toBeUndefined();
    clock.advance(1);
    expect([semaphore.available(), semaphore.inUse()]).toEqual([1, 1]);
    const expired = expect.objectContaining({ code: 'ERR_PERMIT_EXPIRED' });
    expect(() => permits[1]?.release()).toThrow(expired);
    expect([semaphore.available(), semaphore.inUse()]).toEqual([1, 1]);
  });

  test('refuses a late release before any other call has noticed, and returns the permit once', () => {
    const clock = ManualClock.create();
    const semaphore = create({ permits: 1, holdMs: 100, clock });
    const permit = semaphore.tryAcquire();
    clock.advance(100);
    expect(() => permit?.release()).toThrow('longer than holdMs');
    expect(semaphore.available()).toBe(1);
  });

  test('wakes waiting callers, and blocks no longer than that', async () => {
    const clock = ManualClock.create();
    const semaphore = create({ permits: 1, holdMs: 100, clock });
    semaphore.tryAcquire();
    const wait = semaphore.acquire();
    await settled(20);
    clock.advance(100);
    const permit: Permit = await wait;
    clock.advance(100);
    expect(semaphore.acquireSync()?.n).toBe(1);
    expect(() => permit.release()).toThrow('longer than holdMs');
  });

  // It waited for ever, and so did all callers of its thread behind it.
  test.each([0.5, -1, 1e300, Number.NaN])('refuses damaged memory in which it is %d', (holdMs) => {
    const region = Region.create();
    const { handle } = create({ permits: 1, holdMs: 100, region });
    expect(Semaphore.attach(handle).holdMs).toBe(100);
    region.f64[(handle.offset + SEMAPHORE.holdMs) >> 3] = holdMs;
    expect(() => Semaphore.attach(handle)).toThrow('configuration is invalid');
  });

  test('a caller whose permit expired before its thread noticed waits for another', async () => {
    const clock = ManualClock.create();
    const semaphore = create({ permits: 1, holdMs: 100, clock });
    const held = semaphore.tryAcquire();
    const order: string[] = [];
    const use = async (name: string) => {
      const permit = await semaphore.acquire();
      order.push(name);
      permit.release();
    };
    const users = ['first', 'second', 'third'].map(use);
    held?.release();
    // The first caller has the permit from now on, and the second one afterwards.
    for (const ms of [0, 100]) {
      clock.advance(ms);
      expect(semaphore.available()).toBe(0);
    }
    await Promise.all(users);
    expect(order).toEqual(['second', 'third', 'first']);
    expect([semaphore.available(), semaphore.waiting]).toEqual([1, 0]);
  });

  test('a blocked thread whose permit expired before it noticed waits for another', () => {
    const clock = ManualClock.create();
    const semaphore = create({ permits: 1, holdMs: 100, clock });
    const held = semaphore.tryAcquire();
    const sleeps = vi.spyOn(clock, 'sleepSync').mockImplementation(() => {
      if (sleeps.mock.calls.length > 1) throw new Error('it sleeps on');
      held?.release();
      for (const available of [0, 1]) {
        expect(semaphore.available()).toBe(available);
        clock.advance(100);
      }
    });
    expect(semaphore.acquireSync()?.n).toBe(1);
  });

  test('has run reject if its function takes longer', async () => {
    const clock = ManualClock.create();
    const semaphore = create({ permits: 1, holdMs: 100, clock });
    const slow = semaphore.run(() => clock.advance(100));
    await expect(slow).rejects.toThrow('longer than holdMs');
  });
});

/** Blocks in `acquireSync` of a thread of its own. */
const BLOCKED = `
  const { parentPort, workerData } = require('node:worker_threads');
  import(workerData.module).then(({ Semaphore }) => {
    const permit = Semaphore.attach(workerData.handle).acquireSync(2);
    parentPort.postMessage(permit?.n);
  });`;
const MODULE = new URL('../../dist/src/index.js', import.meta.url).href;

/** Resolves when `count` callers of all threads and processes wait. */
function waiting(semaphore: Semaphore, count: number): Promise<void> {
  return until(() => semaphore.waiting >= count);
}

describe.each(TARGETS)('the counts of a semaphore, with kernel %s,', (kernel) => {
  const create = (options: SemaphoreOptions) =>
    Semaphore.create({ kernel, stats: true, ...options });
  const countsOf = (semaphore: Semaphore) => {
    const { calls, admitted, refused } = semaphore.stats();
    return [calls, admitted, refused];
  };

  test('have a call that waits as admitted, once it has its permits', async () => {
    const uncounted = create({ permits: 1, stats: false });
    expect(() => uncounted.stats()).toThrow('stats: true');
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
