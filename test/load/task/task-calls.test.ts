import { beforeEach, expect, it, vi } from 'vitest';
import { Tally } from '../../../src/load/measure/tally.ts';
import { QueuedWork } from '../../../src/load/send/queued-work.ts';
import type { TaskCall, TaskModule } from '../../../src/load/task/task.ts';
import { TaskCalls } from '../../../src/load/task/task-thread.ts';

beforeEach(() => void vi.useFakeTimers());
/** The work of one thread on a clock that the test moves, with the timers. */
class Stage {
  readonly tally = new Tally();
  nowUs = 0;
  /** How often the work read the clock. */
  reads = 0;
  idle = 0;
  #sequence = 0;
  readonly work: QueuedWork;

  constructor(
    task: TaskModule['default'],
    { concurrency = 2, isOver = (): boolean => false } = {},
  ) {
    const calls = new TaskCalls({
      task,
      thread: 3,
      concurrency,
      nextSequence: () => this.#sequence++,
      onClose: () => Promise.resolve(),
    });
    const options = {
      timeoutMs: 1_000,
      tallyOf: () => this.tally,
      now: () => {
        this.reads += 1;
        return this.nowUs;
      },
      onIdle: () => {
        this.idle += 1;
      },
      isOver,
    };
    this.work = new QueuedWork(options, calls);
  }

  async pass(ms: number): Promise<void> {
    this.nowUs += ms * 1_000;
    await vi.advanceTimersByTimeAsync(ms);
  }

  send(times = 1): void {
    for (let i = 0; i < times; i++) this.work.send(this.nowUs, this.nowUs);
  }

  get errors(): [kind: string, count: number, example: string][] {
    return [...this.tally.errors.values()].map(({ kind, count, example }) => [
      kind,
      count,
      example,
    ]);
  }
}

it('calls the task with its thread, the next number and the instant at which it was due', () => {
  const calls: unknown[] = [];
  const stage = new Stage(
    ({ thread, sequence, dueUs }) => void calls.push([thread, sequence, dueUs]),
  );
  stage.nowUs = 5;
  stage.work.send(4, 5);
  stage.work.send(5, 5);
  expect(calls).toEqual([
    [3, 0, 4],
    [3, 1, 5],
  ]);
  expect(stage.tally.counters).toEqual({ sent: 2, succeeded: 2, failed: 0 });
  expect(stage.work.isIdle).toBe(true);
});

it('counts what is thrown and what rejects by name and code, with its time', async () => {
  const outcomes = [
    () => {
      throw new TypeError('no');
    },
    () => Promise.reject(Object.assign(new Error('gone'), { code: 'ECONNRESET' })),
    // biome-ignore lint/suspicious/noThenProperty: a task may answer with any thenable
    () => ({ then: (_: unknown, reject: (reason: unknown) => void) => reject('text') }),
    () => ({
      // biome-ignore lint/suspicious/noThenProperty: the same
      get then() {
        throw new RangeError('trap');
      },
    }),
    () => undefined,
  ];
  const stage = new Stage(({ sequence }) => outcomes[sequence]?.(), { concurrency: 5 });
  stage.send(5);
  await stage.pass(0);
  expect(stage.errors).toEqual([
    ['TypeError', 1, 'no'],
    ['RangeError', 1, 'trap'],
    ['Error ECONNRESET', 1, 'gone'],
    ['thrown string', 1, 'text'],
  ]);
  expect(stage.tally.counters).toEqual({ sent: 5, succeeded: 1, failed: 4 });
  expect(stage.tally.histograms.latency.totalCount).toBe(5);
});

it('queues calls beyond its concurrency, whose latency counts from when they were due', async () => {
  const ends: (() => void)[] = [];
  const stage = new Stage(() => new Promise<void>((resolve) => ends.push(resolve)));
  stage.send(3);
  expect([stage.work.inFlight, stage.work.queued]).toEqual([2, 1]);
  await stage.pass(40);
  ends[0]?.();
  await stage.pass(0);
  expect([stage.work.inFlight, stage.work.queued, stage.idle]).toEqual([2, 0, 0]);
  await stage.pass(10);
  for (const end of ends) end();
  await stage.pass(0);
  expect(stage.idle).toBe(1);
  const { latency, response, queued } = stage.tally.histograms;
  expect([latency.maxValue, response.minNonZeroValue]).toEqual([50_000, 10_000]);
  expect(queued.maxValue).toBeGreaterThan(39_000);
});

it('times out calls that hang, aborts their signals, and goes on without them', async () => {
  const seen: TaskCall[] = [];
  let end = () => {};
  const stage = new Stage(
    (call) => {
      seen.push(call);
      if (call.sequence === 0) call.signal.addEventListener('abort', () => end());
      return new Promise<void>((resolve) => {
        if (call.sequence === 0) end = resolve;
      });
    },
    { concurrency: 1 },
  );
  stage.send(2);
  await stage.pass(999);
  expect(seen).toHaveLength(1);
  await stage.pass(1);
  // The first ends when it is aborted, and counts no second time.
  expect(seen).toHaveLength(2);
  expect(seen[0]?.signal.reason).toMatchObject({ name: 'TimeoutError' });
  expect(stage.errors).toEqual([['timed out', 1, 'the call took longer than 1000 ms']]);
  await stage.pass(1_000);
  // Who looks at the signal only now sees it aborted as well.
  expect(seen[1]?.signal.aborted).toBe(true);
  expect(stage.tally.counters).toEqual({ sent: 2, succeeded: 0, failed: 2 });
  expect(stage.work.isIdle).toBe(true);
});

it('counts a call that blocks its thread, as timed out if that takes too long', () => {
  const stage: Stage = new Stage(({ sequence }) => {
    stage.nowUs += sequence === 0 ? 400_000 : 1_000_000;
  });
  stage.send(2);
  expect(stage.tally.blocked).toEqual({ calls: 2, longestUs: 1_000_000 });
  expect(stage.tally.counters).toEqual({ sent: 2, succeeded: 1, failed: 1 });
  expect(stage.errors.map(([kind]) => kind)).toEqual(['timed out']);
});

it('reads the clock twice for a call that ends at once: when it starts, and when it has ended', () => {
  const stage = new Stage(() => undefined);
  stage.send(3);
  expect(stage.reads).toBe(6);
  expect(stage.tally.counters).toEqual({ sent: 3, succeeded: 3, failed: 0 });
});

it('begins no call once the end is long past: they count as unsent', () => {
  let isOver = false;
  const stage = new Stage(() => new Promise(() => {}), { isOver: () => isOver, concurrency: 1 });
  stage.send(2);
  isOver = true;
  stage.work.dropQueue();
  expect(stage.work.queued).toBe(0);
  expect(stage.errors.map(([kind, count]) => [kind, count])).toEqual([['unsent', 1]]);
  const late = new Stage(() => undefined, { isOver: () => isOver });
  late.send(2);
  expect(late.tally.counters).toEqual({ sent: 0, succeeded: 0, failed: 2 });
});

it('counts all that has not ended when the thread ends', async () => {
  const ends: (() => void)[] = [];
  const stage = new Stage(() => new Promise<void>((resolve) => ends.push(resolve)));
  stage.send(3);
  stage.work.abandon('thread ended', 'exited with code 7');
  for (const end of ends) end();
  await stage.pass(0);
  expect(stage.errors.map(([kind, count]) => [kind, count])).toEqual([
    ['unsent', 1],
    ['thread ended', 2],
  ]);
  expect(stage.tally.counters).toEqual({ sent: 2, succeeded: 0, failed: 3 });
});
