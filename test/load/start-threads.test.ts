import { EventEmitter, once } from 'node:events';
import { MessageChannel } from 'node:worker_threads';
import { expect, it } from 'vitest';
import { planArrivals } from '../../src/load/plan/arrival-plan.ts';
import type { LoadOptions } from '../../src/load/plan/options.ts';
import type { Carrier, Carriers } from '../../src/load/send/carrier.ts';
import type {
  LoadCommand,
  LoadEvent,
  LoadThreadData,
  ThreadData,
} from '../../src/load/threads/messages.ts';
import { runLoad } from '../../src/load/threads/run.ts';
import { startThreads } from '../../src/load/threads/start-threads.ts';
import { ThreadHandle } from '../../src/load/threads/thread-handle.ts';
import { ThreadService } from '../../src/load/threads/thread-service.ts';
import { systemClock } from '../../src/time/system-clock.ts';
import { loadOptions, replacedWorker } from '../support/load-options.ts';
import { until } from '../support/settled.ts';

/** Longer than any test takes. */
const PATIENT_MS = 60_000;

/** What the threads of a run get. */
function given(change: Partial<LoadOptions>): ThreadData[] {
  const options = loadOptions({
    url: 'http://127.0.0.1:9/',
    rate: 10_000,
    connections: 64,
    ...change,
  });
  const target = {
    url: 'http://127.0.0.1:9/',
    rehearsalUrl: 'http://127.0.0.1:9/',
    ready: () => Promise.resolve(),
    close: () => Promise.resolve(),
  };
  const all: ThreadData[] = [];
  startThreads(
    options,
    target,
    () => 0,
    undefined,
    (_code, data) => {
      all.push(data as ThreadData);
      const postMessage = () => undefined;
      const terminate = () => Promise.resolve();
      return Object.assign(new EventEmitter(), { postMessage, terminate });
    },
  );
  return all;
}

it('a ramp begins as prepared as a run at its highest rate, whether it rises or falls', () => {
  const even = given({});
  expect(even).toHaveLength(2);
  const prepared = even.map((data) => {
    const { outstanding, rehearsal } = data as LoadThreadData; // it sends requests
    return { outstanding, rehearsal: { requests: rehearsal.requests } };
  });
  expect(given({ ramp: { from: 100, to: 10_000, overMs: 1_000 } })).toMatchObject(prepared);
  const falling = { rate: 100, ramp: { from: 10_000, to: 100, overMs: 1_000 } };
  expect(given(falling)).toMatchObject(prepared);
  const task = { url: 'file:///task.mjs', data: undefined, concurrency: 1 };
  const outstanding = prepared.map((data) => ({ outstanding: data.outstanding }));
  expect(given({ ...falling, task })).toMatchObject(outstanding);
});

// docs/load.md: "Before the first request is due, the client compiles its code"
it('opens the connections of 20 ms of requests ahead, over all threads', () => {
  const ahead = (change: Partial<LoadOptions>) =>
    given(change).map((data) => (data as LoadThreadData).openAhead);
  expect(ahead({})).toEqual([100, 100]);
  expect(ahead({ rate: 40 })).toEqual([1, 1]);
  expect(ahead({ ramp: { from: 1000, to: 10_000, overMs: 1_000 } })).toEqual([10, 10]);
});

it('reports all that there is if its work ends the thread within the first turn', async () => {
  const { port1, port2 } = new MessageChannel();
  let sent = 0;
  const carrier: Carrier = {
    dispatch: () => {
      sent += 1;
      service.abandon('gone');
      return undefined;
    },
  };
  const carriers: Carriers = {
    capacity: 1,
    noRoom: '',
    tooLong: '',
    take: () => carrier,
    give: () => undefined,
    close: () => undefined,
  };
  const data = { timeoutMs: 1_000, outstanding: 5 };
  const service = new ThreadService(port1, { data, open: async () => carriers });
  expect(await once(port2, 'message')).toEqual([{ type: 'ready' }]);
  const { bucket, startUs } = planArrivals(1_000, 1, 1);
  // As on a busy machine, the first slots are due before the thread hears of them.
  systemClock.sleepSync(startUs + 2_000);
  const go: LoadCommand = { type: 'go', bucket: bucket.handle, startUs, endUs: startUs + 1e9 };
  const told = once(port2, 'message') as Promise<[LoadEvent]>;
  port2.postMessage(go);
  const [event] = await told;
  expect(event).toMatchObject({ type: 'done', failure: 'gone' });
  await service.done;
  expect(sent).toBe(1);
  port2.close();
});

it('the counts of a thread that could not report its results are those of its last report', async () => {
  const loadWorker = replacedWorker(`
    parentPort.postMessage({ type: 'ready' });
    parentPort.on('message', ({ type, startUs }) => {
      if (type !== 'go') return;
      parentPort.postMessage({
        type: 'report',
        admissions: Float64Array.of(startUs + 1),
        throughUs: startUs + 2,
        counters: { sent: 5, succeeded: 3, failed: 1 },
        waiting: 1,
        latencies: new Map(),
      });
      setImmediate(() => process.exit(3));
    });
  `);
  const options = loadOptions({
    task: { url: 'data:text/javascript,', data: undefined, concurrency: 1 },
    threads: 1,
    durationMs: 60_000,
  });
  const { signal: stop } = new AbortController();
  const result = await runLoad(options, { stop, loadWorker });
  const counts = { sent: 5, succeeded: 3, failed: 1 };
  expect(result.threads).toEqual([
    { admitted: 1, share: 1, calls: counts, crash: 'exited with code 3' },
  ]);
  expect(result.calls).toEqual(counts);
});

const ROUND = { type: 'round', latestUs: 0, lengthUs: 1, counts: true } as const;

/** A thread that answers each command with this code, in which `tell` tells a round so far. */
async function closedThread(soFar: object, answer: string): Promise<ThreadHandle> {
  const code = replacedWorker(`
    const round = ${JSON.stringify(soFar)};
    const tell = (isOver) => parentPort.postMessage({ type: 'round', round, isOver });
    parentPort.postMessage({ type: 'ready' });
    let rounds = 0;
    parentPort.on('message', () => { rounds += 1; ${answer} });
  `);
  const handle = new ThreadHandle(code, {});
  await handle.ready;
  return handle;
}

it('a closed loop keeps what a thread reported of its last round', async () => {
  const soFar = { counters: { sent: 9, succeeded: 8, failed: 0 }, elapsedUs: 250_000 };
  const answer = 'if (rounds === 2) process.exit(3); tell(false); tell(true);';
  const handle = await closedThread(soFar, answer);
  expect(await handle.ask(ROUND, PATIENT_MS)).toEqual(soFar);
  expect(handle.roundSoFar).toEqual(soFar);
  expect(await handle.ask(ROUND, PATIENT_MS), 'nothing is known of this one').toBeUndefined();
  expect(handle.roundSoFar).toBeUndefined();
  expect(handle.crash).toBe('exited with code 3');
});

it('a closed loop keeps the report of the round in which a thread is given up', async () => {
  const soFar = { counters: { sent: 4, succeeded: 4, failed: 0 }, elapsedUs: 250_000 };
  const forEver = 'for (;;) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);';
  const handle = await closedThread(soFar, `tell(false); ${forEver}`);
  const round = handle.ask(ROUND, PATIENT_MS);
  await until(() => handle.roundSoFar !== undefined);
  await handle.giveUp();
  expect(await round).toEqual(soFar);
  expect(handle.crash).toBe('did not finish in time');
});
