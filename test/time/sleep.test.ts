import { getEventListeners } from 'node:events';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import type { SleepOptions } from '../../src/time/clock.ts';
import { PreciseTimers } from '../../src/time/precise-timers.ts';
import { sleep, sleepSync } from '../../src/time/system-clock.ts';
import { MAX_TIMEOUT_MS, Machine } from '../support/simulated-machine.ts';

const DAY_MS = 86_400_000;
/** What a precise sleep asks of the timer thread, and how that answers. */
let timers: Pick<PreciseTimers, 'set'> | undefined;
beforeEach(() => {
  timers = undefined;
  vi.spyOn(PreciseTimers, 'ofThread').mockImplementation(() => timers as PreciseTimers | undefined);
});
afterEach(() => vi.restoreAllMocks());

const SPANS_US = [1, 400, 999, 1000, 1500, 7300.5, 60_000_000];

describe('a sleep', () => {
  // https://github.com/libuv/libuv/issues/4773
  test.each(SPANS_US)(
    'of %d us does not end early, though timers may fire up to 1 ms early',
    async (us) => {
      const machine = new Machine();
      for (const early of [0.001, 250, 500, 999]) {
        machine.lateUs = -early;
        expect(await machine.sleep(us, false)).toBeGreaterThanOrEqual(0);
        expect(await machine.sleep(us, true)).toBeGreaterThanOrEqual(0);
      }
    },
  );

  test.each(SPANS_US)(
    'of %d us that is strict is at most a turn of the event loop late',
    async (us) => {
      const machine = new Machine();
      for (const late of [-999, 0, 100, 1100]) {
        machine.lateUs = late;
        expect(await machine.sleep(us, true)).toBeLessThanOrEqual(machine.turnUs);
      }
    },
  );

  test('that is not strict does not spin', async () => {
    const machine = new Machine();
    await machine.sleep(10_500, false);
    expect(machine.turns).toBe(0);
    expect(machine.timeouts).toEqual([10, 1]);
  });

  test('of 30 days lasts 30 days, though setTimeout is limited to 24.8', async () => {
    const machine = new Machine();
    expect(await machine.sleep(30 * DAY_MS * 1000, false)).toBe(0);
    expect(machine.timeouts).toEqual([MAX_TIMEOUT_MS, 30 * DAY_MS - MAX_TIMEOUT_MS]);
  });

  test('whose instant has passed ends without a timer', async () => {
    const machine = new Machine();
    expect(await machine.sleep(0, false)).toBe(0);
    expect(await machine.sleep(-5, true)).toBe(5);
    expect([machine.timeouts, machine.turns]).toEqual([[], 0]);
  });

  test.each([
    ['on a timer', false, 5000],
    ['polling', true, 500],
  ])('that is aborted %s leaves no timer and no listener behind', async (_, strict, us) => {
    const machine = new Machine();
    const controller = new AbortController();
    const { signal } = controller;
    const done = sleep(machine.now, machine.nowUs + us, { strict, signal });
    expect(machine.pending).toBe(1);
    expect(getEventListeners(signal, 'abort')).toHaveLength(1);
    controller.abort('enough');
    await expect(done).rejects.toBe('enough');
    expect(machine.pending).toBe(0);
    expect(getEventListeners(signal, 'abort')).toEqual([]);
  });

  test('that was aborted before it started sets no timer', async () => {
    const machine = new Machine();
    const signal = AbortSignal.abort('before');
    await expect(sleep(machine.now, machine.nowUs + 1e6, { signal })).rejects.toBe('before');
    expect(machine.pending).toBe(0);
    expect(getEventListeners(signal, 'abort')).toEqual([]);
  });

  test('leaves no listener behind', async () => {
    const machine = new Machine();
    const { signal } = new AbortController();
    const done = sleep(machine.now, machine.nowUs + 3000, { signal });
    while (machine.pending > 0) await machine.fire();
    await done;
    expect(getEventListeners(signal, 'abort')).toEqual([]);
  });
});

describe('a blocking sleep', () => {
  test.each(SPANS_US)('of %d us does not end early, though the thread may wake early', (us) => {
    const machine = new Machine();
    for (const late of [-0.5, 0, 90, 200]) {
      machine.lateUs = late;
      const untilUs = machine.nowUs + us;
      sleepSync(machine.slowNow, untilUs);
      expect(machine.nowUs).toBeGreaterThanOrEqual(untilUs);
      expect(machine.nowUs - untilUs).toBeLessThanOrEqual(Math.max(0, late) + machine.turnUs);
    }
  });

  test.each(SPANS_US)('of %d us that is strict is at most a clock reading late', (us) => {
    const machine = new Machine();
    for (const [late, precise] of [
      [0, true],
      [49, true],
      [199, false],
    ] as const) {
      machine.lateUs = late;
      const untilUs = machine.nowUs + us;
      sleepSync(machine.slowNow, untilUs, { strict: true, precise });
      expect(machine.nowUs).toBeGreaterThanOrEqual(untilUs);
      expect(machine.nowUs - untilUs).toBeLessThanOrEqual(machine.turnUs);
    }
  });

  test('whose instant has passed does not block', () => {
    const machine = new Machine();
    sleepSync(machine.now, machine.nowUs);
    sleepSync(machine.now, machine.nowUs - 1);
    expect(machine.timeouts).toEqual([]);
  });
});

/** What a precise sleep asks of the timer thread, and how that answers. */

describe('a precise sleep', () => {
  /** Precise timers that a test fires by hand. */
  function byHand() {
    const machine = new Machine();
    const set: { readonly afterUs: number; readonly ring: () => void }[] = [];
    timers = {
      set({ atUs, nowUs }, ring) {
        const timer = { afterUs: atUs - nowUs, ring };
        set.push(timer);
        return () => void set.splice(set.indexOf(timer), 1);
      },
    };
    const ring = (afterUs: number) => {
      machine.nowUs += afterUs;
      set.pop()?.ring();
    };
    let hasEnded = false;
    const start = (us: number, options: SleepOptions = {}) => {
      const done = sleep(machine.now, machine.nowUs + us, { precise: true, ...options });
      done.then(
        () => {
          hasEnded = true;
        },
        () => undefined,
      );
      return done;
    };
    const ended = async () => {
      for (let i = 0; i < 5; i++) await Promise.resolve();
      return hasEnded;
    };
    return { machine, set, ring, start, ended };
  }

  test.each([1, 400, 7300.5, 20_000])(
    'of %d us needs one precise timer and no other',
    async (us) => {
      const { machine, set, ring, start, ended } = byHand();
      start(us);
      expect(set.map(({ afterUs }) => afterUs)).toEqual([us]);
      ring(us);
      expect(await ended()).toBe(true);
      expect([machine.timeouts, set]).toEqual([[], []]);
    },
  );

  test('that is woken too early sets another timer', async () => {
    const { set, ring, start, ended } = byHand();
    start(400);
    ring(300);
    expect(await ended()).toBe(false);
    expect(set.map(({ afterUs }) => afterUs)).toEqual([100]);
    ring(100);
    expect(await ended()).toBe(true);
  });

  test('of a minute has a timer until it is near its end', async () => {
    const { machine, set, ring, start, ended } = byHand();
    start(60e6);
    expect([machine.timeouts, set]).toEqual([[59_992], []]);
    machine.lateUs = 1500;
    await machine.fire();
    const [timer] = set;
    expect(timer?.afterUs).toBe(8000);
    ring(8000);
    expect(await ended()).toBe(true);
  });

  test('that is strict is woken 150 us earlier, and polls the clock from then on', async () => {
    const { machine, set, ring, start, ended } = byHand();
    start(1000, { strict: true });
    expect(set.map(({ afterUs }) => afterUs)).toEqual([850]);
    ring(851);
    expect(set).toEqual([]);
    while (!(await ended())) await machine.fire();
    expect([machine.turns, machine.timeouts]).toEqual([149, []]);
  });

  test('that is woken more than a millisecond too early continues with timers', async () => {
    const { machine, set, ring, start, ended } = byHand();
    start(5000);
    ring(4000);
    expect(set.map(({ afterUs }) => afterUs)).toEqual([1000]);
    start(5000);
    ring(3999);
    expect([set.length, machine.timeouts]).toEqual([1, [1]]);
    while (!(await ended())) await machine.fire();
    expect(machine.timeouts).toEqual([1, 1]);
  });

  test('is, by default, one that is short or strict, from the second within 10 s', () => {
    const { machine, set, start } = byHand();
    const sleeps = (us: number, strict = false) => {
      const before = set.length;
      start(us, { precise: undefined, strict });
      return set.length > before ? 'precise' : 'timer';
    };
    // Later than what any other test of this process has read: 31 years.
    machine.nowUs = 1e15;
    expect(sleeps(1999)).toBe('timer');
    expect(sleeps(2000)).toBe('timer');
    expect(sleeps(1999)).toBe('precise');
    machine.nowUs += 10e6;
    expect(sleeps(100)).toBe('precise');
    expect(sleeps(10_000)).toBe('timer');
    expect(sleeps(10_000, true)).toBe('precise');
    machine.nowUs += 10e6 + 1;
    expect(sleeps(10_000, true)).toBe('timer');
    expect(sleeps(1999)).toBe('precise');
    machine.nowUs = 1e6;
    expect(sleeps(1999)).toBe('timer');
    expect(sleeps(1999)).toBe('precise');
  });

  test('sleeps on timers while no timer thread runs', async () => {
    const { machine, start, ended } = byHand();
    timers = { set: () => undefined };
    start(1500);
    while (!(await ended())) await machine.fire();
    expect(machine.timeouts).toEqual([1, 1]);
  });

  test('that is aborted leaves no timer behind', async () => {
    const { set, start } = byHand();
    const controller = new AbortController();
    const done = start(400, { signal: controller.signal });
    expect(set).toHaveLength(1);
    controller.abort('enough');
    await expect(done).rejects.toBe('enough');
    expect(set).toEqual([]);
  });

  test('with precise: false asks for no timer', () => {
    const { machine, set, start } = byHand();
    start(1500, { precise: false });
    expect([machine.timeouts, set]).toEqual([[1], []]);
  });
});
