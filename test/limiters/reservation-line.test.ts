import { getEventListeners } from 'node:events';
import fc from 'fast-check';
import { describe, expect, it, vi } from 'vitest';
import { LimitSet, ManualClock, type Reservation } from '../../src/index.ts';
import { Reservation as AnyReservation } from '../../src/limiters/reservation.ts';
import { RECORD_COUNT, recordOffset } from '../../src/memory/layout.ts';
import { aborting, diaryOf, LINES, reconfigure } from '../support/lines.ts';
import { settled } from '../support/settled.ts';

const NAMES = ['a', 'b', 'c', 'd'];

describe.each(Object.entries(LINES))('the callers that wait for %s', (_, make) => {
  const scene = () => {
    const { limiter: bucket, ...diary } = diaryOf<ReturnType<typeof make>>(make);
    return { bucket, ...diary };
  };

  it.each([0, 1, 2, 3])('close up when the one at place %i aborts', async (place) => {
    const { clock, bucket, events, wait, at } = scene();
    const { signal, abort } = aborting();
    for (const [i, name] of NAMES.entries()) wait(name, i === place ? { signal } : {});
    await at(5);
    abort();
    await at(10, 20, 30, 40);
    expect(events).toEqual([
      `5: ${NAMES[place]} enough`,
      ...NAMES.flatMap((name, i) =>
        i === place ? [] : [`${10 * (i + 1)}: ${name} waited ${10 * (i + 1)}`],
      ),
    ]);
    expect(bucket.waiting).toBe(0);
    expect(getEventListeners(signal, 'abort')).toEqual([]);
    expect(clock.advanceToNext()).toBe(false);
    expect(bucket.changes.endStaleWait(), 'the event fires for nobody').toBe(true);
  });

  it('move together when the limit changes, and keep their order', async () => {
    const { bucket, events, wait, at } = scene();
    for (const name of NAMES) wait(name);
    await at(10);
    reconfigure(bucket, 1000);
    await at(11, 12);
    reconfigure(bucket, 10);
    await at(111.9, 112);
    expect(events).toEqual([
      '10: a waited 10',
      '11: b waited 11',
      '12: c waited 12',
      '112: d waited 112',
    ]);
  });

  it('are refused by a change that makes them late: the head at once, others at their deadline', async () => {
    const { bucket, events, wait, at } = scene();
    wait('patient');
    wait('b', { timeoutMs: 50 });
    wait('c', { timeoutMs: 35 });
    wait('last');
    reconfigure(bucket, 10);
    await at(20, 35, 50, 100, 400);
    expect(events).toEqual([
      '35: c ERR_RATE_LIMIT_TIMEOUT',
      '50: b ERR_RATE_LIMIT_TIMEOUT',
      '100: patient waited 100',
      '400: last waited 400',
    ]);
  });

  it('are refused as soon as they become the head, if they will be late', async () => {
    const { bucket, events, wait, at } = scene();
    wait('a');
    wait('b', { timeoutMs: 150 });
    wait('c');
    reconfigure(bucket, 10);
    await at(100, 300);
    expect(events).toEqual([
      '100: a waited 100',
      '100: b ERR_RATE_LIMIT_TIMEOUT',
      '300: c waited 300',
    ]);
  });

  it('are served if a second change brings them forward before their deadline', async () => {
    const { bucket, events, wait, at } = scene();
    wait('a');
    wait('b', { timeoutMs: 30 });
    reconfigure(bucket, 1);
    await at(20);
    reconfigure(bucket, 1000);
    await at(20.98, 21.98, 30);
    expect(events).toEqual(['20.98: a waited 20.98', '21.98: b waited 21.98']);
  });

  it('start together, in order, if all are due: strict or not, whatever their deadlines', async () => {
    const { clock, events, wait, at } = scene();
    for (const [i, name] of NAMES.entries()) {
      wait(name, { strict: i % 2 === 1, timeoutMs: 10 * (i + 1) });
    }
    await at(1e6);
    expect(events).toEqual(NAMES.map((name) => `1000000: ${name} waited 1000000`));
    expect(clock.advanceToNext()).toBe(false);
  });

  it('are strict only where they ask for it', async () => {
    const { clock, wait, at } = scene();
    const sleep = vi.spyOn(clock, 'sleep');
    wait('calm');
    wait('strict', { strict: true });
    wait('calm too');
    await at(10, 20, 30);
    const sleeps = sleep.mock.calls.map(([untilUs, options]) => [untilUs, options?.strict]);
    expect(sleeps).toEqual([
      [10_000, false],
      [20_000, true],
      [30_000, false],
    ]);
  });

  it('cost one look for each change, however many they are', async () => {
    const { clock, bucket, events, wait } = scene();
    for (let i = 0; i < 2000; i++) wait(`${i}`, { timeoutMs: 1e6 });
    const due = vi.spyOn(AnyReservation.prototype, 'dueUs', 'get');
    for (let change = 0; change < 10; change++) {
      bucket.returnTokens(1);
      await settled();
      reconfigure(bucket, 90 - change);
      await settled();
    }
    // Returned tokens move a set up at the rate of its fastest limit, which is twice the other.
    expect(bucket.waiting).toBe(bucket instanceof LimitSet ? 1995 : 1990);
    // The head's, to see whether it is due and to plan, and the same for the next if it is.
    expect(due.mock.calls.length).toBeLessThan(20 * 4);
    due.mockRestore();
    clock.advance(1e6);
    while (events.length < 2000) await settled();
    expect(events.map((event) => event.split(' ')[1])).toEqual(
      Array.from({ length: 2000 }, (_, i) => `${i}`),
    );
  });

  it('leave the event loop its turns when thousands are due at once', async () => {
    const { clock, bucket, events, wait } = scene();
    for (let i = 0; i < 1000; i++) wait(`${i}`, i % 2 === 0 ? { timeoutMs: 2e4 } : {});
    reconfigure(bucket, 1e6);
    clock.advance(1e6);
    for (let before = 0; events.length < 1000; before = events.length) {
      await new Promise(setImmediate);
      expect(events.length - before).toBeLessThanOrEqual(256);
    }
  });
});

describe('callers that wait', () => {
  it('all fail if the memory of their bucket is damaged', async () => {
    const { limiter: bucket, events, wait, at } = diaryOf(LINES['a token bucket']);
    for (let i = 0; i < 600; i++) wait(`${i}`, { timeoutMs: 1e6 });
    const { memory, offset } = bucket.handle;
    const buffer = 'buffer' in memory ? memory.buffer : memory;
    const records = (index: number) => recordOffset(offset, index) >> 3;
    new Float64Array(buffer).fill(Number.NaN, records(0), records(RECORD_COUNT));
    await at(10, 11, 12);
    expect(new Set(events.map((event) => event.split(' ')[2]))).toEqual(
      new Set(['ERR_REGION_DAMAGED']),
    );
    expect(bucket.waiting).toBe(0);
  });

  it('are served exactly when their reservations are due, in order, whatever happens', async () => {
    const step = fc.record({
      ms: fc.constantFrom(0, 1, 10, 33, 250),
      n: fc.integer({ min: 1, max: 5 }),
      who: fc.nat(),
      what: fc.constantFrom('wait', 'wait', 'wait', 'return', 'rate', 'abort', 'charge'),
    });
    const steps = fc.array(step, { maxLength: 60, size: 'max' });
    const property = fc.asyncProperty(fc.boolean(), steps, async (isComposite, steps) => {
      const clock = ManualClock.create();
      const make = LINES[isComposite ? 'a limit set' : 'a token bucket'];
      // The same calls on two buckets; a caller that waits for one has reserved from the other.
      const [waited, reserved] = [make(clock), make(clock)];
      const waiting: { turn: number; promise: Reservation; abort: () => void }[] = [];
      const over: number[] = [];
      for (const [turn, { ms, n, who, what }] of steps.entries()) {
        if (what === 'wait') {
          const promise = reserved.reserve(n);
          if (promise === undefined) throw new Error('refused');
          const { signal, abort } = aborting();
          waited.wait(n, { signal, strict: who % 3 === 0 }).then(
            () => over.push(turn),
            () => undefined,
          );
          waiting.push({ turn, promise, abort });
        }
        for (const bucket of [waited, reserved]) {
          if (what === 'return') bucket.returnTokens(n);
          if (what === 'charge') bucket.charge(n);
          if (what === 'rate') reconfigure(bucket, [0, 1, 50, 1000, 1e6][who % 5] as number); // < 5
        }
        const [leaving] = what === 'abort' ? waiting.splice(who % (waiting.length || 1), 1) : [];
        leaving?.abort();
        leaving?.promise.cancel();
        await settled();
        clock.advance(ms);
        await settled();
        const isDue = ({ promise }: { promise: Reservation }) => promise.dueUs <= clock.now();
        const due = waiting.filter(isDue);
        expect(over.splice(0)).toEqual(due.map(({ turn }) => turn));
        waiting.splice(0, waiting.length, ...waiting.filter((one) => !isDue(one)));
        expect(waited.waiting).toBe(waiting.length);
        expect(waited.balance()).toBe(reserved.balance());
      }
      for (const { abort } of waiting) abort();
      await settled();
    });
    await fc.assert(property, { numRuns: 100 });
  });
});
