import fc from 'fast-check';
import { expect, onTestFinished, test, vi } from 'vitest';
import { Agenda, type Appointment, onInstant } from '../../src/time/agenda.ts';
import type { Clock } from '../../src/time/clock.ts';
import { Heap, type Timed } from '../../src/time/heap.ts';
import { ManualClock } from '../../src/time/manual-clock.ts';
import { onAbort } from '../../src/time/on-abort.ts';
import { systemClock } from '../../src/time/system-clock.ts';
import { settled } from '../support/settled.ts';

function noting(kept: string[], name: string): Appointment {
  return {
    atUs: 0,
    place: -1,
    order: 0,
    keep: () => kept.push(name),
    fail: (reason) => kept.push(`${name} ${reason}`),
  };
}

function scene() {
  const clock = ManualClock.create();
  const sleep = vi.spyOn(clock, 'sleep');
  const kept: string[] = [];
  const until = () => sleep.mock.calls.map(([untilUs]) => untilUs);
  return { clock, sleep, kept, until, agenda: Agenda.of(clock, {}) };
}

test('a clock has one agenda, and another for strict sleeps', () => {
  const { clock, agenda } = scene();
  expect(Agenda.of(clock, {})).toBe(agenda);
  expect(Agenda.of(clock, { strict: true })).not.toBe(agenda);
  expect(Agenda.of(clock, { precise: true })).not.toBe(agenda);
  expect(Agenda.of(ManualClock.attach(clock.handle), {})).not.toBe(agenda);
});

test.each([
  ['', undefined],
  ['1', true],
  ['0', false],
])('with ZEROTIME_PRECISE="%s", sleeps by default as with precise: %s', async (value, precise) => {
  vi.stubEnv('ZEROTIME_PRECISE', value);
  vi.resetModules();
  onTestFinished(() => {
    vi.unstubAllEnvs();
    vi.resetModules();
  });
  const { Agenda } = await import('../../src/time/agenda.ts');
  const clock = ManualClock.create();
  const sleep = vi.spyOn(clock, 'sleep');
  for (const asked of [true, false]) {
    expect(Agenda.of(clock, {}) === Agenda.of(clock, { precise: asked })).toBe(asked === precise);
  }
  Agenda.of(clock, { precise: undefined }).set(noting([], 'a'), 20);
  expect(sleep.mock.calls[0]?.[1]).toMatchObject({ strict: false, precise });
});

test('each sleep of a clock has a signal of its own, but for the system clock', async () => {
  const signals = async (clock: Clock) => {
    const sleep = vi.spyOn(clock, 'sleep').mockResolvedValue();
    const agenda = Agenda.of(clock, { strict: true });
    for (let i = 0; i < 2; i++) {
      agenda.set(noting([], 'a'), clock.now());
      await settled();
    }
    const [first, second] = sleep.mock.calls.map(([, options]) => options?.signal);
    sleep.mockRestore();
    return [first, second];
  };
  const [first, second] = await signals(ManualClock.create());
  expect(first).toBeInstanceOf(AbortSignal);
  expect(second).not.toBe(first);
  const [third, fourth] = await signals(systemClock);
  expect(fourth).toBe(third);
});

test('the clock sleeps until the earliest, and no oftener than that changes', async () => {
  const { clock, agenda, kept, until } = scene();
  const [a, b, c] = ['a', 'b', 'c'].map((name) => noting(kept, name)) as [
    Appointment,
    Appointment,
    Appointment,
  ];
  agenda.set(a, 20);
  agenda.set(b, 30);
  agenda.set(c, 10);
  expect(until()).toEqual([20, 10]);
  agenda.drop(c);
  clock.set(0.02);
  await settled();
  expect(kept).toEqual(['a']);
  agenda.set(b, 40);
  agenda.set(c, 40);
  clock.set(0.039);
  await settled();
  expect(kept).toEqual(['a']);
  clock.set(0.04);
  await settled();
  expect(kept).toEqual(['a', 'b', 'c']);
});

test('an empty agenda leaves no sleep behind', async () => {
  const { agenda, kept, sleep } = scene();
  const appointment = noting(kept, 'a');
  agenda.set(appointment, 20);
  const signal = sleep.mock.calls[0]?.[1]?.signal;
  expect(signal?.aborted).toBe(false);
  agenda.drop(appointment);
  agenda.drop(appointment);
  expect(signal?.aborted).toBe(true);
  await settled();
  expect(kept).toEqual([]);
});

test('appointments are never kept within the call that sets them, even in the past', async () => {
  const { agenda, kept } = scene();
  agenda.set(noting(kept, 'a'), -1);
  expect(kept).toEqual([]);
  await settled();
  expect(kept).toEqual(['a']);
});

test('an appointment set while others are kept has its turn as well', async () => {
  const { clock, agenda, kept } = scene();
  const later = noting(kept, 'later');
  const first: Appointment = {
    ...noting(kept, 'first'),
    keep() {
      agenda.set(later, 10);
      return kept.push('first');
    },
  };
  agenda.set(first, 10);
  clock.set(0.01);
  await settled();
  expect(kept).toEqual(['first', 'later']);
});

test('an appointment that falls due while others are kept waits for the next turn of the event loop', async () => {
  const kept: string[] = [];
  let us = 0;
  // Its time passes with each reading, so the next appointment is always due already.
  const clock = { ...systemClock, now: () => us++, sleep: async () => undefined };
  const agenda = Agenda.of(clock, {});
  for (let i = 1; i <= 10; i++) agenda.set(noting(kept, `${i}`), i);
  for (let turn = 0; turn < 20; turn++) {
    const before = kept.length;
    await new Promise(setImmediate);
    expect(kept.length - before).toBeLessThanOrEqual(2);
  }
  expect(kept).toEqual(['1', '2', '3', '4', '5', '6', '7', '8', '9', '10']);
});

test('a clock that cannot sleep fails all appointments, and the agenda recovers', async () => {
  const { clock, agenda, kept, sleep } = scene();
  sleep.mockRejectedValueOnce('broken');
  agenda.set(noting(kept, 'a'), 20);
  agenda.set(noting(kept, 'b'), 30);
  await settled();
  expect(kept).toEqual(['a broken', 'b broken']);
  agenda.set(noting(kept, 'c'), 40);
  clock.set(1);
  await settled();
  expect(kept.at(-1)).toBe('c');
});

test('onInstant calls once, and not at all when cancelled or for Infinity', async () => {
  const { clock, kept, until } = scene();
  onInstant(clock, 10, () => kept.push('a'));
  onInstant(clock, 10, () => kept.push('b'))();
  onInstant(clock, Number.POSITIVE_INFINITY, () => kept.push('never'))();
  expect(until()).toEqual([10]);
  clock.set(1);
  await settled();
  expect(kept).toEqual(['a']);
});

test('onAbort has one listener for each signal, until the last has left', () => {
  const { signal, controller } = (() => {
    const controller = new AbortController();
    return { controller, signal: controller.signal };
  })();
  const add = vi.spyOn(signal, 'addEventListener');
  const remove = vi.spyOn(signal, 'removeEventListener');
  const heard: unknown[] = [];
  const [leave, leaveToo] = [1, 2].map((i) => onAbort(signal, (reason) => heard.push(i, reason)));
  leave?.();
  leave?.();
  expect(remove).not.toHaveBeenCalled();
  leaveToo?.();
  expect(remove).toHaveBeenCalledTimes(1);
  const third = onAbort(signal, (reason) => heard.push(3, reason));
  expect(add).toHaveBeenCalledTimes(2);
  controller.abort('over');
  third();
  onAbort(signal, (reason) => heard.push(4, reason))();
  expect(heard).toEqual([3, 'over', 4, 'over']);
  onAbort(undefined, () => heard.push(5))();
});

const operation = fc.oneof(
  fc.record({ add: fc.integer({ min: 0, max: 9 }) }),
  fc.record({ remove: fc.nat(30) }),
  fc.constant('take first' as const),
);

test('the first is always the earliest, and among equals the one added first', () => {
  fc.assert(
    fc.property(fc.array(operation, { maxLength: 80 }), (operations) => {
      const heap = new Heap<Timed>();
      const added: Timed[] = [];
      let expected: Timed[] = [];
      for (const what of operations) {
        if (what === 'take first') {
          const { first } = heap;
          if (first !== undefined) heap.remove(first);
          expected = expected.filter((item) => item !== first);
        } else if ('add' in what) {
          const item = { atUs: what.add, place: -1, order: 0 };
          heap.add(item);
          added.push(item);
          expected.push(item);
        } else {
          // Often one that has left already, which does nothing.
          const item = added[what.remove % Math.max(1, added.length)];
          if (item !== undefined) heap.remove(item);
          expected = expected.filter((other) => other !== item);
        }
        expected.sort((a, b) => a.atUs - b.atUs || added.indexOf(a) - added.indexOf(b));
        expect(heap.first).toBe(expected[0]);
        expect(heap.size).toBe(expected.length);
        expect(added.filter(({ place }) => place >= 0).length).toBe(expected.length);
      }
    }),
  );
});
