import { expect, it } from 'vitest';
import { ClosedHandle } from '../../src/load/closed/closed-handle.ts';
import type { ClosedThreadData } from '../../src/load/closed/messages.ts';
import { runLoad } from '../../src/load/run.ts';
import { loadOptions } from '../support/load-options.ts';
import { replacedWorker } from './replaced-worker.ts';

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
        latencies: new Uint32Array(),
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
  expect(result.threads).toEqual([{ admitted: 1, counters: counts, crash: 'exited with code 3' }]);
  expect(result.tally.counters).toEqual(counts);
  expect(result.sent).toBe(5);
});

it('a closed loop keeps what a thread reported of its last round', async () => {
  const data = {} as ClosedThreadData; // which this thread does not read
  const soFar = { counters: { sent: 9, succeeded: 8, failed: 0 }, elapsedUs: 250_000 };
  const handle = new ClosedHandle(
    replacedWorker(`
      parentPort.postMessage({ type: 'ready' });
      let rounds = 0;
      parentPort.on('message', () => {
        rounds += 1;
        if (rounds === 2) process.exit(3);
        const round = ${JSON.stringify(soFar)};
        parentPort.postMessage({ type: 'progress', round });
        parentPort.postMessage({ type: 'round', round });
      });
    `),
    data,
  );
  await handle.ready;
  const round = { type: 'round', latestUs: 0, lengthUs: 1, counts: true } as const;
  expect(await handle.round(round)).toEqual(soFar);
  expect(handle.counters).toEqual(soFar.counters);
  expect(await handle.round(round), 'nothing is known of this one').toBeUndefined();
  expect(handle.counters).toEqual({ sent: 0, succeeded: 0, failed: 0 });
  expect(handle.crash).toBe('exited with code 3');
});

it('a closed loop keeps the report of the round in which a thread is given up', async () => {
  const soFar = { counters: { sent: 4, succeeded: 4, failed: 0 }, elapsedUs: 250_000 };
  const handle = new ClosedHandle(
    replacedWorker(`
      parentPort.postMessage({ type: 'ready' });
      parentPort.on('message', () => {
        parentPort.postMessage({ type: 'progress', round: ${JSON.stringify(soFar)} });
        for (;;) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
      });
    `),
    {} as ClosedThreadData, // which this thread does not read
  );
  await handle.ready;
  const round = handle.round({ type: 'round', latestUs: 0, lengthUs: 1, counts: true });
  while (handle.counters.sent === 0) await new Promise(setImmediate);
  await handle.giveUp();
  expect(await round).toEqual(soFar);
  expect(handle.crash).toBe('did not finish in time');
});
