import { describe, expect, test, vi } from 'vitest';
import {
  allOf,
  type CallOutcome,
  ManualClock,
  Region,
  Semaphore,
  type SemaphoreOptions,
  TokenBucket,
} from '../../src/index.ts';
import { LATENCY_PER_US } from '../../src/kernel/constants.ts';
import {
  configurationOf,
  createSemaphoreCell,
  openSemaphoreCell,
} from '../../src/kernel/semaphore/cell.ts';
import { LatencyWindow } from '../../src/kernel/semaphore/latency-window.ts';
import { semaphores } from '../../src/kernel/semaphore/owners.ts';
import { ADAPT, adaptAt } from '../../src/memory/layout.ts';

const RANGE = { max: 40, initial: 20 };

function make(more: Partial<SemaphoreOptions> = {}) {
  const clock = ManualClock.create();
  const semaphore = Semaphore.create({ permits: RANGE, adapt: 'gradient', clock, ...more });
  return { clock, semaphore };
}

/** Runs `count` calls at a time that take `ms` each, `rounds` times. */
async function serve(
  { clock, semaphore }: ReturnType<typeof make>,
  ms: number,
  rounds: number,
  { count = semaphore.permits, outcome = 'ok' as CallOutcome } = {},
): Promise<void> {
  for (let round = 0; round < rounds; round++) {
    const n = Math.min(count, semaphore.permits);
    const permits = Array.from({ length: n }, () => semaphore.tryAcquire());
    await clock.advance(ms);
    for (const permit of permits) permit?.release({ outcome });
  }
}

/** A server that serves 8 calls at once. */
async function serveEight(made: ReturnType<typeof make>, rounds: number): Promise<void> {
  for (let round = 0; round < rounds; round++) {
    await serve(made, 10 * Math.max(1, made.semaphore.permits / 8), 1);
  }
}

describe('a semaphore that adapts', () => {
  test.each(['wasm', 'atomics'] as const)('finds the number of its server: %s', async (kernel) => {
    const made = make({ kernel });
    await serveEight(made, 400);
    const { semaphore } = made;
    expect(semaphore.permits).toBeGreaterThanOrEqual(8);
    expect(semaphore.permits).toBeLessThanOrEqual(14);
    expect(semaphore.adaptation?.leastLatencyMs).toBeGreaterThan(9);
    expect(semaphore.adaptation?.leastLatencyMs).toBeLessThan(13);
    expect(semaphore.inUse()).toBe(0);
    expect(semaphore.available()).toBe(semaphore.permits);
  });

  test('counts all permits of calls that take several', async () => {
    const { clock, semaphore } = make({ permits: { min: 4, max: 40, initial: 20 } });
    for (let round = 0; round < 400; round++) {
      const calls = Math.floor(semaphore.permits / 4);
      const permits = Array.from({ length: calls }, () => semaphore.tryAcquire(4));
      // The server serves what 8 permits admit at once.
      await clock.advance(10 * Math.max(1, calls / 2));
      for (const permit of permits) permit?.release();
    }
    expect(semaphore.permits).toBeGreaterThanOrEqual(8);
    expect(semaphore.permits).toBeLessThanOrEqual(14);
  });

  test.each([
    ['gradient', 3],
    ['vegas', 3],
    ['aimd', 2],
  ] as const)(
    'grows by %s while calls of %i permits leave too few for another',
    async (adapt, n) => {
      const { clock, semaphore } = make({ permits: { min: n, max: 40, initial: 19 }, adapt });
      for (let round = 0; round < 600; round++) {
        const calls = Math.floor(semaphore.permits / n);
        const permits = Array.from({ length: calls }, () => semaphore.tryAcquire(n));
        await clock.advance(10);
        for (const permit of permits) permit?.release();
      }
      expect(semaphore.permits).toBeGreaterThan(35);
    },
  );

  test.each(['wasm', 'atomics'] as const)(
    'counts each permit of a slow call for at most 8 times the least latency: %s',
    (kernel) => {
      const state = { number: 20, least: 10, needed: 1 };
      const place = createSemaphoreCell({
        ...{ permits: 20, maxPermits: 20, holdMs: 0, originUs: 0, stats: false },
        adaptive: { adapts: 1, window: { min: 1, max: 20, state } },
        region: Region.create(),
      });
      const { engine } = semaphores.openShared(place.region, kernel);
      const window = new LatencyWindow(engine, place, configurationOf(place));
      expect(window.add(0, 1e6, 3)).toBe(true);
      expect(window.close(1e6)).toMatchObject({ count: 1, sumMs: 80, heldMs: 240 });
    },
  );

  test('adds the time for which a call holds each of its permits', async () => {
    const region = Region.create();
    const { clock, semaphore } = make({ region });
    const place = openSemaphoreCell(
      region,
      semaphore.handle.offset,
      'semaphore',
      semaphore.handle.nonce,
    );
    const at = place.offset + adaptAt(configurationOf(place).waiters) + ADAPT.further;
    const held: number[] = [];
    for (const n of [1, 3]) {
      const permit = semaphore.tryAcquire(n);
      await clock.advance(10);
      permit?.release();
      held.push(Number(region.i64[at >> 3]) / (1000 * LATENCY_PER_US));
    }
    expect(held).toEqual([0, 20]);
  });

  test('gets one of two ranges that threads set at once, never the half of each', () => {
    const { semaphore } = make({ maxPermits: 300 });
    const other = Semaphore.attach(semaphore.handle);
    const { store } = Atomics;
    const spy = vi.spyOn(Atomics, 'store');
    spy.mockImplementationOnce(((array: Int32Array, index: number, value: number) => {
      const result = store(array, index, value);
      other.reconfigure({ permits: { min: 200, max: 300 } });
      return result;
    }) as typeof store);
    semaphore.reconfigure({ permits: { min: 4, max: 100 } });
    spy.mockRestore();
    expect(semaphore.adaptation).toMatchObject({ min: 200, max: 300 });
    expect(semaphore.permits).toBe(200);
  });

  test('reads the latency after any number of windows in which all calls were dropped', async () => {
    const region = Region.create();
    const made = make({ region, adapt: 'aimd' });
    const { semaphore } = made;
    await serve(made, 10, 40);
    expect(semaphore.adaptation?.latencyMs).toBe(10);
    const { offset, nonce } = semaphore.handle;
    const place = openSemaphoreCell(region, offset, 'semaphore', nonce);
    const at = place.offset + adaptAt(configurationOf(place).waiters) + ADAPT.head;
    // As 300,000 windows would, of which each has 50 calls at least.
    const pass = () => Atomics.add(region.i64, at >> 3, 300_000n << 44n);
    // The first window ends with calls that were served.
    for (let i = 0; i < 3; i++) {
      pass();
      await serve(made, 10, 400, { outcome: 'dropped' });
      expect(semaphore.adaptation?.latencyMs).toBe(10);
    }
    await serve(made, 20, 400);
    expect(semaphore.adaptation?.latencyMs).toBeCloseTo(20);
  });

  test('starts with its initial number, and reads what it has found', async () => {
    const { semaphore } = make();
    expect(semaphore.permits).toBe(20);
    expect(semaphore.adaptation).toEqual({
      ...{ rule: 'gradient', min: 1, max: 40, number: 20 },
      ...{ latencyMs: 0, leastLatencyMs: 0, dropped: 0 },
    });
    expect(Semaphore.create({ permits: 3 }).adaptation).toBeUndefined();
    expect(JSON.parse(JSON.stringify(semaphore))).toMatchObject({ permits: 20, adapt: 'gradient' });
    const first = (permits: SemaphoreOptions['permits']) =>
      Semaphore.create({ permits, adapt: 'vegas' }).permits;
    expect([first({ max: 5 }), first({ min: 30, max: 50 }), first({ max: 100 })]).toEqual([
      5, 30, 20,
    ]);
  });

  test('falls while calls are dropped, and counts them', async () => {
    const made = make({ adapt: 'aimd' });
    await serve(made, 30, 12, { outcome: 'dropped' });
    expect(made.semaphore.permits).toBeLessThanOrEqual(10);
    expect(made.semaphore.adaptation?.dropped).toBeGreaterThan(100);
  });

  test('stays as it is while calls are ignored, or too few at a time', async () => {
    const made = make();
    await serve(made, 30, 50, { outcome: 'ignore' });
    expect(made.semaphore.adaptation?.latencyMs).toBe(0);
    await serve(made, 30, 100, { count: 5 });
    expect(made.semaphore.permits).toBe(20);
    expect(made.semaphore.adaptation?.latencyMs).toBeCloseTo(30);
  });

  // docs/how-many-at-once.md: "A call that never ends is never measured"
  test('does not measure a call that has not ended', async () => {
    const { clock, semaphore } = make();
    for (let round = 0; round < 20; round++) semaphore.tryAcquire();
    await clock.advance(1e6);
    expect(semaphore.tryAcquire()).toBeUndefined();
    expect(semaphore.adaptation).toMatchObject({ number: 20, latencyMs: 0, dropped: 0 });
  });

  test('lets waiting callers in when the number rises', async () => {
    const made = make({ permits: { max: 40, initial: 4 } });
    const { clock, semaphore } = made;
    await serve(made, 20, 40);
    const all = Array.from({ length: semaphore.permits }, () => semaphore.tryAcquire());
    const before = semaphore.permits;
    const waiting = semaphore.acquire();
    await clock.advance(20);
    all.pop()?.release();
    (await waiting).release();
    for (const permit of all) permit?.release();
    await serve(made, 20, 20);
    expect(semaphore.permits).toBeGreaterThan(before);
    expect(semaphore.available()).toBe(semaphore.permits);
  });

  test('counts a permit that was held longer than holdMs as dropped', async () => {
    const { clock, semaphore } = make({ holdMs: 100 });
    const permit = semaphore.tryAcquire();
    await clock.advance(200);
    expect(() => permit?.release()).toThrow(/longer than holdMs/);
    expect(semaphore.adaptation?.dropped).toBe(1);
  });
});

describe('run tells a semaphore that adapts how a call ended', () => {
  const timeout = Object.assign(new Error('late'), { name: 'TimeoutError' });

  test.each([
    ['dropped', timeout, 1],
    ['dropped', new TypeError('fetch failed', { cause: timeout }), 1],
    ['ignored', new Error('no such row'), 0],
    ['ignored', undefined, 0],
  ])('%s after %o', async (_, error, dropped) => {
    const { semaphore } = make();
    const bucket = TokenBucket.create({ rate: 100, burst: 10, clock: semaphore.clock });
    for (const limit of [semaphore, allOf(semaphore, bucket)]) {
      await expect(limit.run(() => Promise.reject(error))).rejects.toBe(error);
    }
    expect(semaphore.adaptation?.dropped).toBe(2 * dropped);
    expect(semaphore.inUse()).toBe(0);
  });

  test('as outcomeOf says, whose own errors are ignored', async () => {
    const { semaphore } = make();
    const fail = (outcomeOf: (error: unknown) => CallOutcome) =>
      semaphore.run(() => Promise.reject(timeout), { outcomeOf }).catch(() => undefined);
    await fail(() => 'ignore');
    await fail(() => {
      throw new Error('in outcomeOf');
    });
    // As of an async function.
    await fail(() => Promise.resolve('dropped') as unknown as CallOutcome);
    expect(semaphore.adaptation?.dropped).toBe(0);
    expect(semaphore.inUse()).toBe(0);
    await fail(() => 'dropped');
    expect(semaphore.adaptation?.dropped).toBe(1);
    expect(semaphore.inUse()).toBe(0);
  });
});

describe('the range of a semaphore that adapts', () => {
  test('changes for all who share it', async () => {
    const { semaphore } = make();
    const other = Semaphore.attach(semaphore.handle);
    other.reconfigure({ permits: { max: 10 } });
    expect(semaphore.permits).toBe(10);
    other.reconfigure({ permits: { min: 30, max: 40 } });
    expect(semaphore.adaptation).toMatchObject({ min: 30, max: 40 });
    expect(semaphore.permits).toBe(30);
    expect(() => other.reconfigure({ permits: 10 })).toThrow(/permits must be an object/);
    expect(() => other.reconfigure({ permits: { max: 1000 } })).toThrow(/permits.max must be/);
  });

  // docs/how-many-at-once.md: "A call that takes several permits needs a min of at least as many"
  test('has a call for more than the number fail, and not one for the least number', async () => {
    const { semaphore } = make({ permits: { max: 40, initial: 4 } });
    await expect(semaphore.acquire(5)).rejects.toMatchObject({ code: 'ERR_EXCEEDS_BURST' });
    semaphore.reconfigure({ permits: { min: 5, max: 40 } });
    await semaphore.acquire(5);
    expect(semaphore.available()).toBe(0);
  });

  test('is compared when it is opened by name, without the initial number', () => {
    const region = Region.create();
    const open = (permits: SemaphoreOptions['permits'], onMismatch?: 'reconfigure') =>
      Semaphore.open(region, 'api', {
        ...{ permits, adapt: 'gradient' },
        ...(onMismatch && { onMismatch }),
      });
    const first = open({ max: 50 });
    expect(open({ min: 1, max: 50, initial: 7 }).permits).toBe(first.permits);
    expect(() => open({ max: 60 })).toThrow(/has permits/);
    open({ min: 25, max: 60 }, 'reconfigure');
    expect(first.adaptation).toMatchObject({ min: 25, max: 60 });
    expect(() => open({ max: 60 })).toThrow(/has permits/);
    expect(() => open(null as never)).toThrow(/has permits/);
    expect(() => Semaphore.open(region, 'api', { permits: 20 })).toThrow(/has permits/);
    const vegas = () => Semaphore.open(region, 'api', { permits: { max: 60 }, adapt: 'vegas' });
    expect(vegas).toThrow(/api/);
  });

  test.each([
    [{ permits: 5, adapt: 'gradient' }, TypeError, 'permits must be an object with max'],
    [{ permits: { max: 5 } }, TypeError, 'permits must be an integer'],
    [{ permits: null, adapt: 'aimd' }, TypeError, 'permits must be an object, got null'],
    [{ permits: { max: 0 }, adapt: 'gradient' }, RangeError, 'permits.max must be'],
    [{ permits: { min: 6, max: 5 }, adapt: 'gradient' }, RangeError, 'permits.min must be'],
    [{ permits: { max: 5, initial: 6 }, adapt: 'aimd' }, RangeError, 'permits.initial must be'],
    [{ permits: { max: 5, most: 6 }, adapt: 'aimd' }, TypeError, 'permits has no option "most"'],
    [{ permits: { max: 5 }, adapt: 'reno' }, RangeError, 'adapt must be one of gradient, vegas'],
    [{ permits: { max: 500 }, maxPermits: 100, adapt: 'aimd' }, RangeError, 'maxPermits must be'],
  ])('%o is misuse', (options, type, message) => {
    const create = () => Semaphore.create(options as SemaphoreOptions);
    expect(create).toThrow(type);
    expect(create).toThrow(message);
  });

  test('an invalid outcome throws, and releases nothing', () => {
    const { semaphore } = make();
    const permit = semaphore.tryAcquire();
    expect(() => permit?.release({ outcome: 'failed' as CallOutcome })).toThrow(/outcome must be/);
    expect(semaphore.inUse()).toBe(1);
    permit?.release();
    expect(semaphore.inUse()).toBe(0);
  });
});
