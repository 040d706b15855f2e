import { getEventListeners } from 'node:events';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import {
  type ClockHandle,
  ManualClock,
  Region,
  systemClock,
  TokenBucket,
} from '../../src/index.ts';
import { MANUAL_CLOCK } from '../../src/memory/layout.ts';
import { timers } from '../../src/memory/runtime.ts';
import { isSameClock } from '../../src/time/clock.ts';
import { Crew } from '../support/crew.ts';
import { expectSame } from '../support/quick.ts';
import { settled } from '../support/settled.ts';

/** The clock's timers that run: the test runner starts some of its own at any time. */
const running = new Set<unknown>();
const timerCount = () => running.size;

beforeEach(() => {
  running.clear();
  const { repeat, stop } = timers;
  vi.spyOn(timers, 'repeat').mockImplementation((...given) => {
    const timer = repeat(...given);
    running.add(timer);
    return timer;
  });
  vi.spyOn(timers, 'stop').mockImplementation((timer) => {
    stop(timer);
    running.delete(timer);
  });
});

afterEach(() => void vi.restoreAllMocks());

describe('a manual clock', () => {
  test('keeps its time until it is moved', () => {
    const clock = ManualClock.create();
    expect([clock.nowMs, clock.now()]).toEqual([0, 0]);
    clock.advance(1.5);
    expect([clock.nowMs, clock.now()]).toEqual([1.5, 1500]);
    clock.set(1705509033000.25);
    expect(clock.now()).toBe(1705509033000250);
    clock.set(-3);
    expect(clock.nowMs).toBe(-3);
    expect(ManualClock.create({ nowMs: 7 }).nowMs).toBe(7);
  });

  test('is one clock for all threads attached to it, also in a region', () => {
    const region = Region.create();
    TokenBucket.open(region, 'before', { rate: 1, burst: 1 });
    const clock = ManualClock.open(region, 'clock', { nowMs: 5 });
    const other = ManualClock.attach(structuredClone(clock.handle));
    clock.advance(1);
    other.advance(6);
    expect([clock.nowMs, other.nowMs]).toEqual([12, 12]);
    expect(isSameClock(clock, other)).toBe(true);
  });

  test('adds up the moves of four threads', async () => {
    const THREADS = 4;
    const TIMES = 20_000;
    const crew = await Crew.of('clocked', 'advance', THREADS);
    for (let round = 0; ; round++) {
      const clock = ManualClock.create();
      const advanced = await crew.run({ clock: clock.handle, times: TIMES });
      expect(clock.nowMs).toBe(THREADS * TIMES);
      if (advanced.some(({ interleaved }) => interleaved > 0)) break;
      expect(round, 'rounds in which the threads did not meet').toBeLessThan(1_000);
    }
  });

  test.each([
    [() => ManualClock.create({ nowMs: Number.NaN }), RangeError, 'nowMs must be a number'],
    [() => ManualClock.create({ nowMs: '1' as never }), TypeError, 'got "1"'],
    [() => ManualClock.create(1 as never), TypeError, 'options must be an object, got 1'],
    [() => ManualClock.create().advance(-1), RangeError, 'ms must be a number at least 0'],
    [
      () => ManualClock.create().set(2 ** 52),
      RangeError,
      'ms must be a number at least -2251799813685.248',
    ],
    [() => ManualClock.attach({ name: 'system' }), Error, "not a manual clock's handle"],
    [
      () => ManualClock.attach({ name: 'manual', buffer: new SharedArrayBuffer(8) }),
      Error,
      'a region has at least 128 bytes',
    ],
    [
      () => ManualClock.attach({ ...ManualClock.create().handle, offset: 0 } as ClockHandle),
      Error,
      "no clock is at the handle's offset",
    ],
  ])('%# is not moved or made by what is no time', (call, type, message) => {
    expect(call).toThrow(type);
    expect(call).toThrow(message);
  });

  test('takes no room in a region for a clock with an invalid time', () => {
    const region = Region.create();
    const { bytesFree } = region;
    const open = () => ManualClock.open(region, 'clock', { nowMs: Number.NaN });
    expect(open).toThrow(RangeError);
    expect(region.bytesFree).toBe(bytesFree);
  });

  test('advances to the next sleeper, and never back to one that has not yet woken', async () => {
    const clock = ManualClock.create();
    const sleep = clock.sleep(100_000);
    clock.advance(200);
    expect([clock.advanceToNext(), clock.nowMs]).toEqual([true, 200]);
    await sleep;
    expect(clock.advanceToNext()).toBe(false);
  });

  test('wakes its sleepers at their instants, and not before', async () => {
    const clock = ManualClock.create();
    const wokenAt: Record<number, number> = {};
    const [third, first, second] = [3000, 1000, 2000].map(async (untilUs) => {
      await clock.sleep(untilUs);
      wokenAt[untilUs] = clock.now();
    });
    clock.set(0.999);
    await settled();
    clock.set(1);
    await first;
    clock.set(1.5);
    await settled();
    clock.set(2.999);
    await second;
    await settled();
    expect(wokenAt).toEqual({ 1000: 1000, 2000: 2999 });
    clock.advance(1);
    await third;
    expect(wokenAt).toEqual({ 1000: 1000, 2000: 2999, 3000: 3999 });
  });

  test('does not wake a sleeper when it moves back', async () => {
    const clock = ManualClock.create({ nowMs: 5 });
    let woken = false;
    const sleep = clock.sleep(6000).then(() => {
      woken = true;
    });
    clock.set(1);
    await settled();
    expect(woken).toBe(false);
    clock.set(6);
    await sleep;
  });

  test('ends a sleep at once if its instant has passed, also while others sleep', async () => {
    const clock = ManualClock.create({ nowMs: 5 });
    await clock.sleep(5000);
    await clock.sleep(-1);
    const other = clock.sleep(6000);
    let ended = false;
    const past = clock.sleep(4000).then(() => {
      ended = true;
    });
    await settled();
    expect(ended).toBe(true);
    clock.set(6);
    await Promise.all([past, other]);
  });

  // docs/errors.md: "With a ManualClock that is never advanced"
  test('keeps the event loop alive during a sleep, and leaves nothing behind', async () => {
    const clock = ManualClock.create();
    const before = timerCount();
    const sleeps = [clock.sleep(1000), clock.sleep(2000)];
    expect(timerCount()).toBe(before + 1);
    clock.advance(1);
    await sleeps[0];
    expect(timerCount()).toBe(before + 1);
    clock.advance(1);
    await sleeps[1];
    expect(timerCount()).toBe(before);
  });

  test('supports aborting a sleep, and leaves no listener or timer behind', async () => {
    const clock = ManualClock.create();
    const before = timerCount();
    const { signal, abort } = abortable();
    const sleep = clock.sleep(1000, { signal });
    expect(getEventListeners(signal, 'abort')).toHaveLength(1);
    abort('enough');
    await expect(sleep).rejects.toBe('enough');
    expect(getEventListeners(signal, 'abort')).toEqual([]);
    expect(timerCount()).toBe(before);
    await expect(clock.sleep(1000, { signal })).rejects.toBe('enough');
    expect(getEventListeners(signal, 'abort')).toEqual([]);
    expect(timerCount()).toBe(before);
  });

  test('leaves no listener behind after a completed sleep', async () => {
    const clock = ManualClock.create();
    const { signal } = abortable();
    const sleep = clock.sleep(1000, { signal });
    clock.advance(1);
    await sleep;
    expect(getEventListeners(signal, 'abort')).toEqual([]);
  });
});

function abortable() {
  const controller = new AbortController();
  return { signal: controller.signal, abort: (reason: unknown) => controller.abort(reason) };
}

test('an attached limiter rouses those that block on its clock when it changes', () => {
  const bucket = TokenBucket.create({ rate: 1, burst: 1, clock: ManualClock.create() });
  const { handle, clock } = TokenBucket.attach(bucket.handle);
  const { buffer, offset = 0 } = clock.handle as Extract<ClockHandle, { name: 'manual' }>;
  const moves = new Int32Array(buffer, offset + MANUAL_CLOCK.moves, 1);
  const before = Atomics.load(moves, 0);
  TokenBucket.attach(handle).reconfigure({ rate: 2 });
  expect(Atomics.load(moves, 0)).not.toBe(before);
});

test('the system clock has one origin for all threads', async () => {
  const crew = await Crew.of('clocked', 'advance', 2);
  const clock = ManualClock.create().handle;
  for (let round = 0; round < 20; round++) {
    const before = systemClock.now();
    const read = await crew.run({ clock, times: 0 });
    const after = systemClock.now();
    for (const { systemUs } of read) {
      expect(systemUs).toBeGreaterThanOrEqual(before);
      expect(systemUs).toBeLessThanOrEqual(after);
    }
  }
});

test('the system clock never runs backwards, and counts fractions of a microsecond', () => {
  let last = systemClock.now();
  let fractions = 0;
  for (let i = 0; i < 10_000; i++) {
    const now = systemClock.now();
    expectSame(now >= last, true);
    if (!Number.isInteger(now)) fractions++;
    last = now;
  }
  expect(fractions).toBeGreaterThan(0);
});

describe('advanceToNext', () => {
  test('sees the sleepers of limiters that were attached in this thread', async () => {
    const clock = ManualClock.create();
    const { handle } = TokenBucket.create({ rate: 1, burst: 1, initial: 0, clock });
    const wait = TokenBucket.attach(structuredClone(handle)).wait();
    await Promise.resolve();
    expect(clock.nextMs()).toBe(1000);
    expect(ManualClock.create().nextMs()).toBe(Number.POSITIVE_INFINITY);
    expect(clock.advanceToNext()).toBe(true);
    await wait;
    expect(clock.advanceToNext()).toBe(false);
  });

  test('wakes the sleepers of this thread one after another, in order', async () => {
    const clock = ManualClock.create({ nowMs: 5 });
    expect(clock.nextMs()).toBe(Number.POSITIVE_INFINITY);
    expect(clock.advanceToNext()).toBe(false);
    const woken: number[] = [];
    const sleeps = [7, 6.25, 9].map((ms) => clock.sleep(ms * 1000).then(() => woken.push(ms)));
    expect(clock.nextMs()).toBe(6.25);
    expect(clock.advanceToNext()).toBe(true);
    expect(clock.nowMs).toBe(6.25);
    await sleeps[1];
    expect(clock.advanceToNext()).toBe(true);
    await sleeps[0];
    expect(clock.nextMs()).toBe(9);
    expect(clock.advanceToNext()).toBe(true);
    await Promise.all(sleeps);
    expect(woken).toEqual([6.25, 7, 9]);
    expect(clock.advanceToNext()).toBe(false);
    expect(clock.nowMs).toBe(9);
  });

  test('leaves the clock alone while callers wait for a paused bucket', () => {
    const clock = ManualClock.create();
    const bucket = TokenBucket.create({ rate: 0, burst: 1, initial: 0, clock });
    const stop = new AbortController();
    const wait = bucket.wait(1, { signal: stop.signal });
    expect([clock.nextMs(), clock.advanceToNext(), clock.nowMs]).toEqual([Infinity, false, 0]);
    stop.abort();
    return expect(wait).rejects.toThrow();
  });
});
