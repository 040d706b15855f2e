import { getEventListeners } from 'node:events';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { Alarms } from '../../src/time/alarms.ts';
import { sleep, sleepSync } from '../../src/time/system-clock.ts';
import { MAX_TIMEOUT_MS, Machine } from '../support/simulated-machine.ts';

const DAY_MS = 86_400_000;
/** What a precise sleep asks of the alarm thread, and how that answers. */
let alarms: Pick<Alarms, 'set'> | undefined;
beforeEach(() => {
  alarms = undefined;
  vi.spyOn(Alarms, 'ofThread').mockImplementation(() => alarms as Alarms | undefined);
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
