import { once } from 'node:events';
import { setImmediate } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { CallLoop, Pace } from '../../../src/load/closed/call-loop.ts';
import { RoundGate } from '../../../src/load/closed/round-gate.ts';
import type { Failure } from '../../../src/load/measure/errors.ts';
import type { TaskCall, TaskModule } from '../../../src/load/task/task.ts';
import { systemClock } from '../../../src/time/system-clock.ts';
import { expectSame } from '../../support/quick.ts';

beforeEach(() => void vi.useFakeTimers());
/** A loop on a clock that each call moves by `callUs`, and each reading by as much. */
function loopOf(
  task: TaskModule['default'],
  { concurrency = 1, stopUs = Number.POSITIVE_INFINITY, callUs = 1 } = {},
) {
  const failures: Failure[] = [];
  const samples: [us: number, calls: number][] = [];
  const time = { nowUs: 0 };
  const ticks = new Int32Array(1);
  const loop = new CallLoop({
    task: (call) => {
      time.nowUs += callUs;
      return task(call);
    },
    thread: 1,
    concurrency,
    timeoutMs: 100,
    ticks,
    now: () => {
      time.nowUs += callUs;
      return time.nowUs;
    },
    isStopped: (nowUs) => nowUs >= stopUs,
    onSample: (us, calls) => void samples.push([us, calls]),
    onFailure: (failure) => void failures.push(failure),
  });
  return { loop, failures, samples, time, ticks };
}

it('calls in a tight loop until the end, each call with the next number', async () => {
  const seen: number[] = [];
  const { loop, samples } = loopOf(
    ({ thread, sequence, dueUs }) => {
      expect([thread, dueUs]).toEqual([1, 7]);
      seen.push(sequence);
    },
    { callUs: 0.1 },
  );
  const lastUs = await loop.run(7, 1_000);
  expect(lastUs).toBeGreaterThanOrEqual(1_000);
  expect(lastUs).toBeLessThan(1_100);
  expect(seen).toEqual(seen.map((_, at) => at));
  expect(loop.counters).toEqual({ sent: seen.length, succeeded: seen.length, failed: 0 });
  expect(samples.reduce((sum, [, calls]) => sum + calls, 0)).toBe(seen.length);
  // Calls between two looks double while they take next to no time.
  expect(samples.slice(0, 4).map(([, calls]) => calls)).toEqual([1, 2, 4, 8]);
  const before = seen.length;
  await loop.run(7, 2_000);
  expect(seen[before]).toBe(before);
  expect(loop.counters.sent).toBe(seen.length - before);
});

it('counts calls that throw, and goes on', async () => {
  const { loop, failures } = loopOf(({ sequence }) => {
    if (sequence % 3 === 2) throw new RangeError('third');
  });
  await loop.run(0, 1_000);
  const { sent, succeeded, failed } = loop.counters;
  expect(failed).toBe(Math.floor(sent / 3));
  expect(succeeded + failed).toBe(sent);
  expect(failures.every(({ kind }) => kind === 'RangeError')).toBe(true);
});

it('keeps its number of async calls in flight, with a count of all of them', async () => {
  let inFlight = 0;
  let most = 0;
  const numbers: number[] = [];
  const task = async (call: TaskCall) => {
    const { sequence } = call;
    inFlight += 1;
    most = Math.max(most, inFlight);
    await undefined;
    inFlight -= 1;
    // The object is this call's alone while the call is in flight.
    expectSame(call.sequence, sequence);
    numbers.push(sequence);
    if (sequence === 5) throw new Error('fifth');
  };
  const { loop, failures } = loopOf(task, { concurrency: 3 });
  await loop.run(0, 2_000);
  const { sent, succeeded, failed } = loop.counters;
  expect([most, failed, failures.length]).toEqual([3, 1, 1]);
  expect(sent).toBe(succeeded + failed);
  expect(numbers.toSorted((a, b) => a - b)).toEqual(Array.from({ length: sent }, (_, at) => at));
  await loop.run(2_000, 4_000);
  expect(loop.counters.sent).toBeGreaterThan(3);
});

it('puts another call in the place of one that hangs', async () => {
  const signals: AbortSignal[] = [];
  const { loop, failures, time } = loopOf(({ sequence, signal }) => {
    if (sequence !== 2) return Promise.resolve();
    signals.push(signal);
    // Its end comes too late to count.
    return new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()));
  });
  const run = loop.run(0, 150_000);
  await vi.advanceTimersByTimeAsync(0);
  expect(loop.counters.sent).toBe(3);
  for (let ms = 0; ms < 120; ms += 10) {
    time.nowUs += 10_000;
    await vi.advanceTimersByTimeAsync(10);
  }
  expect(failures).toEqual([{ kind: 'timed out', example: 'the call took longer than 100 ms' }]);
  expect(signals[0]?.aborted).toBe(true);
  await run;
  const { sent, succeeded, failed } = loop.counters;
  expect([failed, succeeded]).toEqual([1, sent - 1]);
  expect(sent).toBeGreaterThan(1_000);
});

it('ends a round in which every call hangs', async () => {
  const { loop, failures, time } = loopOf(() => new Promise(() => {}), { concurrency: 2 });
  const run = loop.run(0, 50_000);
  for (let ms = 0; ms < 120; ms += 10) {
    time.nowUs += 10_000;
    await vi.advanceTimersByTimeAsync(10);
  }
  await run;
  expect(failures).toHaveLength(2);
});

it('ends early when it is told to', async () => {
  const { loop } = loopOf(() => undefined, { stopUs: 500 });
  expect(await loop.run(0, 1e9)).toBeLessThan(600);
});

it('counts the call from which the thread ends', async () => {
  let loop: CallLoop | undefined;
  const counted: unknown[] = [];
  const made = loopOf(({ sequence }) => {
    if (sequence !== 40) return;
    loop?.interrupt();
    counted.push({ ...loop?.counters });
  });
  loop = made.loop;
  await loop.run(0, 1_000);
  expect(counted).toEqual([{ sent: 41, succeeded: 40, failed: 0 }]);
  loop.interrupt();
});

// docs/tasks.md: "Shorter calls are timed in batches"
it('times each call of 1 us or longer by itself, and shorter ones in batches of about 25 us', () => {
  const pace = new Pace();
  for (let i = 0; i < 40; i++) pace.take({ us: 0.001 * pace.calls, calls: pace.calls });
  expect(pace.calls).toBe(1_024);
  for (let i = 0; i < 40; i++) pace.take({ us: 2 * pace.calls, calls: pace.calls });
  expect(pace.calls).toBe(1);
  for (let i = 0; i < 40; i++) pace.take({ us: 0.5 * pace.calls, calls: pace.calls });
  expect(pace.calls).toBe(64);
});

describe.each([0.01, 0.1, 1, 10])('of calls of %d us, one that takes a second', (callUs) => {
  it.each([
    ['returns', 'succeeded'],
    ['throws', 'failed'],
  ])('and %s is a sample by itself, exact to 25 us, and has timed out', async (outcome) => {
    const { loop, failures, samples, time } = loopOf(
      ({ sequence }) => {
        if (sequence !== 700) return;
        time.nowUs += 1e6;
        if (outcome === 'throws') throw new Error('late');
      },
      { callUs },
    );
    await loop.run(0, 1.01e6);
    expect(failures).toEqual([{ kind: 'timed out', example: 'the call took longer than 100 ms' }]);
    const { sent, succeeded, failed } = loop.counters;
    expect([failed, succeeded]).toEqual([1, sent - 1]);
    const longest = Math.max(...samples.map(([us, calls]) => us / calls));
    expect(Math.abs(longest - 1e6)).toBeLessThanOrEqual(25);
    expect(samples.reduce((sum, [, calls]) => sum + calls, 0)).toBe(sent);
    // The time of all samples is that of the round.
    expect(samples.reduce((sum, [us]) => sum + us, 0)).toBeCloseTo(time.nowUs - callUs, 3);
  });
});

it('an async call that blocks its thread for longer than the timeout has timed out', async () => {
  const { loop, failures, samples, time } = loopOf(
    async ({ sequence }) => {
      if (sequence === 70) time.nowUs += 1e6;
    },
    { callUs: 0.01 },
  );
  await loop.run(0, 1.01e6);
  expect(failures).toEqual([{ kind: 'timed out', example: 'the call took longer than 100 ms' }]);
  const longest = Math.max(...samples.map(([us, calls]) => us / calls));
  expect(Math.abs(longest - 1e6)).toBeLessThanOrEqual(25);
});

// docs/tasks.md: "A batch ends at least every 10 ms"
it.each([
  ['synchronous', () => undefined],
  ['asynchronous', () => Promise.resolve()],
])('%s long calls in a row are told apart, and none has timed out', async (_, answer) => {
  const { loop, failures, samples, time, ticks } = loopOf(
    ({ sequence }) => {
      if (sequence >= 701 && sequence < 706) {
        time.nowUs += 50_000;
        Atomics.add(ticks, 0, 1);
      }
      return answer();
    },
    { callUs: 0.01 },
  );
  await loop.run(0, 0.26e6);
  expect(failures).toEqual([]);
  const long = samples.filter(([us, calls]) => us / calls > 1_000);
  expect(long.map(([us]) => Math.round(us / 1_000))).toEqual([50, 50, 50, 50, 50]);
});

it('makes no further call in the place of one that hangs after a stop', async () => {
  const { loop, failures, time } = loopOf(() => new Promise(() => {}), { stopUs: 1_000 });
  const run = loop.run(0, 1e9);
  for (let ms = 0; ms <= 200; ms += 10) {
    time.nowUs += 10_000;
    await vi.advanceTimersByTimeAsync(10);
  }
  const lastUs = await run;
  expect(failures).toHaveLength(1);
  expect(loop.counters).toEqual({ sent: 1, succeeded: 0, failed: 1 });
  // It ended when the watch saw the stop, not when the call was given up.
  expect(lastUs).toBeGreaterThanOrEqual(10_000);
  expect(lastUs).toBeLessThan(30_000);
});

/** A stall of the machine may take some of it. */
const FAR_US = 20e6;

it('a round starts as soon as the last thread is at the gate', () => {
  const gate = new RoundGate(1);
  expect(gate.startUs).toBeUndefined();
  const latestUs = systemClock.now() + FAR_US;
  const startUs = gate.pass(latestUs);
  expect(startUs).toBe(gate.startUs);
  expect(startUs).toBeLessThan(latestUs);
  expect(startUs).toBeLessThanOrEqual(systemClock.now());
  gate.close();
  expect(gate.startUs).toBeUndefined();
  expect(gate.pass(systemClock.now() + FAR_US)).toBeGreaterThan(startUs);
});

it('a missing thread does not hold up the others, and gets their start when it comes', () => {
  const one = new RoundGate(2);
  const other = new RoundGate(2, one.words);
  const latestUs = systemClock.now() + 5_000;
  const startUs = one.pass(latestUs);
  expect(startUs).toBe(Math.ceil(latestUs));
  expect(systemClock.now()).toBeGreaterThanOrEqual(startUs);
  expect(other.pass(systemClock.now() + FAR_US)).toBe(startUs);
});

it('the last thread wakes one that waits at the gate', async () => {
  const gate = new RoundGate(2);
  const latestUs = Math.ceil(systemClock.now() + FAR_US);
  const built = new URL('../../../dist/src/load/closed/round-gate.js', import.meta.url);
  const waiting = new Worker(
    `const { parentPort, workerData } = require('node:worker_threads');
     import(workerData.built).then(({ RoundGate }) => {
       const gate = new RoundGate(2, workerData.words);
       parentPort.postMessage(gate.pass(workerData.latestUs));
     });`,
    { eval: true, workerData: { built: built.href, words: gate.words, latestUs } },
  );
  const started = once(waiting, 'message');
  while (Atomics.load(gate.words, 1) !== 1n) await setImmediate();
  const startUs = gate.pass(latestUs);
  expect(startUs).toBeLessThan(latestUs);
  expect((await started)[0]).toBe(startUs);
  expect(systemClock.now()).toBeLessThan(latestUs);
});
