import { EventEmitter, once } from 'node:events';
import { MessageChannel } from 'node:worker_threads';
import { expect, it } from 'vitest';
import { planArrivals } from '../../src/load/plan/arrival-plan.ts';
import type { LoadOptions } from '../../src/load/plan/options.ts';
import type { Work } from '../../src/load/send/queued-work.ts';
import type {
  LoadCommand,
  LoadEvent,
  LoadThreadData,
  ThreadData,
} from '../../src/load/threads/messages.ts';
import { startThreads } from '../../src/load/threads/start-threads.ts';
import { ThreadService } from '../../src/load/threads/thread-service.ts';
import { systemClock } from '../../src/time/system-clock.ts';
import { loadOptions } from '../support/load-options.ts';

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

it('reports all that there is if its work ends the thread within the first turn', async () => {
  const { port1, port2 } = new MessageChannel();
  let sent = 0;
  const work: Work = {
    inFlight: 0,
    capacity: 1,
    queued: 0,
    wasFull: false,
    isIdle: true,
    send: () => {
      sent += 1;
      service.abandon('gone');
    },
    dropQueue: () => undefined,
    interrupt: () => undefined,
    close: () => undefined,
  };
  const data = { timeoutMs: 1_000, outstanding: 5 };
  const service = new ThreadService(port1, { data, open: async () => work });
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
