import { beforeEach, expect, test, vi } from 'vitest';
import { ManualClock, TokenBucket } from '../../src/index.ts';
import { AdmissionWatch } from '../../src/load/measure/admissions.ts';
import { UseGauge } from '../../src/load/measure/gauges.ts';
import type { LoadOptions } from '../../src/load/plan/options.ts';
import type { LoadCommand } from '../../src/load/threads/messages.ts';
import { conduct } from '../../src/load/threads/run.ts';
import type { ThreadHandle } from '../../src/load/threads/thread-handle.ts';
import { withResolvers } from '../support/settled.ts';

beforeEach(() => void vi.useFakeTimers());
/** A load thread that answers changes of the rate when the test says so. */
class SlowThread {
  readonly commands: LoadCommand[] = [];
  follows = true;
  onFollowed: () => void = () => undefined;
  counters = { sent: 0, succeeded: 0, failed: 0 };
  waiting = 0;
  readonly #ended = withResolvers();
  readonly done = this.#ended.promise;
  readonly end = () => this.#ended.resolve();
  isGivenUp = false;

  giveUp(): Promise<void> {
    this.isGivenUp = true;
    this.end();
    return Promise.resolve();
  }

  post(command: LoadCommand): void {
    this.commands.push(command);
    if (command.type === 'rate') this.follows = false;
  }

  answer(): void {
    this.follows = true;
    this.onFollowed();
  }
}

/** A run of these threads at 200 requests a second, on a clock that the test moves. */
function started(
  threads: readonly SlowThread[],
  options: Partial<LoadOptions> = {},
  stop = new AbortController().signal,
) {
  const clock = ManualClock.create();
  const bucket = TokenBucket.create({ rate: 200, burst: 1, clock });
  const watch = new AdmissionWatch({ threads: threads.length, startUs: 0, rate: 200, burst: 1 });
  const cpu = new UseGauge(() => ({ totalMs: 0, usedMs: { machine: 0, own: 0 } }), 200);
  let steer: (factor: number) => void = () => undefined;
  const onSteerable = (given: typeof steer) => {
    steer = given;
  };
  const parts = {
    options: { durationMs: 5000, timeoutMs: 1000, ...options } as LoadOptions,
    threads: threads as unknown as ThreadHandle[], // all that a run needs of them
    plan: { bucket, startUs: 0.5 },
    ...{ startUs: 0, watch, cpu },
  };
  const run = conduct(parts, { stop, onSteerable });
  const pass = (ms: number) => {
    clock.advance(ms);
    vi.advanceTimersByTime(ms);
  };
  return { run, bucket, pass, steer: (factor: number) => steer(factor) };
}

test('the rate changes only while every thread follows the last change', async () => {
  const [quick, slow] = [new SlowThread(), new SlowThread()] as const;
  const { run, bucket, pass, steer } = started([quick, slow]);
  pass(100);
  const changes = () => slow.commands.filter(({ type }) => type === 'rate').length;
  steer(2);
  expect([bucket.rate, changes()]).toEqual([400, 1]);
  quick.answer();
  steer(2);
  steer(2);
  expect([bucket.rate, changes()]).toEqual([400, 1]);
  slow.answer();
  expect([bucket.rate, changes()]).toEqual([1600, 2]);
  for (const thread of [quick, slow]) thread.answer();
  expect(changes()).toBe(2);
  steer(0.5);
  expect([bucket.rate, changes()]).toEqual([800, 3]);
  for (const thread of [quick, slow]) thread.end();
  await run;
});

test('an interrupt during the last preparations ends the run', async () => {
  const thread = new SlowThread();
  thread.end();
  const run = await started([thread], {}, AbortSignal.abort()).run;
  expect(run.interrupted).toBe(true);
  expect(thread.commands.map(({ type }) => type)).toEqual(['go', 'stop']);
});

test.each([
  ['requests', undefined, 11],
  ['a task, which may tear down for as long as a call', {}, 17],
])('a thread of %s is given up when all times are over', async (_, task, limitS) => {
  const thread = new SlowThread();
  const { run, pass } = started([thread], {
    durationMs: 1000,
    timeoutMs: 6000,
    task,
  } as LoadOptions);
  let seconds = 0;
  for (; seconds < 30 && !thread.isGivenUp; seconds++) pass(1000);
  expect(seconds).toBe(1 + limitS + 1);
  await run;
});
