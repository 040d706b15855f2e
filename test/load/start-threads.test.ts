import { EventEmitter } from 'node:events';
import { expect, it } from 'vitest';
import type { LoadOptions } from '../../src/load/plan/options.ts';
import type { LoadThreadData, ThreadData } from '../../src/load/threads/messages.ts';
import { startThreads } from '../../src/load/threads/start-threads.ts';
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
