import { expect, it } from 'vitest';
import { runLoad } from '../../src/load/threads/run.ts';
import { ThreadHandle } from '../../src/load/threads/thread-handle.ts';
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
        latencies: [new Float64Array(), new Float64Array()],
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

it('a closed loop keeps what a thread reported of its last round', async () => {
  const soFar = { counters: { sent: 9, succeeded: 8, failed: 0 }, elapsedUs: 250_000 };
  const handle = new ThreadHandle(
    replacedWorker(`
      parentPort.postMessage({ type: 'ready' });
      let rounds = 0;
      parentPort.on('message', () => {
        rounds += 1;
        if (rounds === 2) process.exit(3);
        const round = ${JSON.stringify(soFar)};
        parentPort.postMessage({ type: 'round', round, isOver: false });
        parentPort.postMessage({ type: 'round', round, isOver: true });
      });
    `),
    {},
  );
  await handle.ready;
  const round = { type: 'round', latestUs: 0, lengthUs: 1, counts: true } as const;
  expect(await handle.ask(round)).toEqual(soFar);
  expect(handle.roundSoFar).toEqual(soFar);
  expect(await handle.ask(round), 'nothing is known of this one').toBeUndefined();
  expect(handle.roundSoFar).toBeUndefined();
  expect(handle.crash).toBe('exited with code 3');
});

it('a closed loop keeps the report of the round in which a thread is given up', async () => {
  const soFar = { counters: { sent: 4, succeeded: 4, failed: 0 }, elapsedUs: 250_000 };
  const handle = new ThreadHandle(
    replacedWorker(`
      parentPort.postMessage({ type: 'ready' });
      parentPort.on('message', () => {
        parentPort.postMessage({ type: 'round', round: ${JSON.stringify(soFar)}, isOver: false });
        for (;;) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
      });
    `),
    {},
  );
  await handle.ready;
  const round = handle.ask({ type: 'round', latestUs: 0, lengthUs: 1, counts: true });
  while (handle.roundSoFar === undefined) await new Promise(setImmediate);
  await handle.giveUp();
  expect(await round).toEqual(soFar);
  expect(handle.crash).toBe('did not finish in time');
});
