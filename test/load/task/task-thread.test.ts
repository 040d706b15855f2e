import { once } from 'node:events';
import { pathToFileURL } from 'node:url';
import { MessageChannel, type MessagePort } from 'node:worker_threads';
import { expect, it, onTestFinished } from 'vitest';
import { RoundGate } from '../../../src/load/closed/round-gate.ts';
import { runRoundThread } from '../../../src/load/closed/round-thread.ts';
import { planArrivals } from '../../../src/load/plan/arrival-plan.ts';
import { failureOf } from '../../../src/load/task/task-module.ts';
import { runTaskThread } from '../../../src/load/task/task-thread.ts';
import type {
  LoadCommand,
  LoadEvent,
  RoundThreadData,
  TaskThreadData,
} from '../../../src/load/threads/messages.ts';
import { drive } from '../../../src/load.ts';
import { codeUrl } from '../../support/code-url.ts';
import { folderOfTest, written } from '../../support/folders.ts';
import { NO_GATES, runUntil } from '../../support/load-options.ts';

// Runs in the test's thread, with a message channel in place of the main thread.

function channel(): [MessagePort, MessagePort] {
  const { port1, port2 } = new MessageChannel();
  onTestFinished(() => port1.close());
  return [port1, port2];
}

async function said<T>(port: MessagePort): Promise<T> {
  const [event] = await once(port, 'message');
  return event;
}

function taskData(code: string): TaskThreadData {
  const counter = new BigInt64Array(new SharedArrayBuffer(8));
  const task = { url: codeUrl(code), data: 5, concurrency: 10, thread: 0, threads: 1 };
  return { timeoutMs: 1_000, outstanding: 10, task, counter };
}

it('a thread calls its task at each due instant, and reports how it ended', async () => {
  const [port, main] = channel();
  const others = process.listeners('exit');
  const code = `
    let got;
    export const setup = ({ data }) => { got = data; };
    export default ({ sequence }) => { if (got !== 5 || sequence === 2) throw new RangeError('r'); };
  `;
  runTaskThread(port, taskData(code));
  const own = process.listeners('exit').filter((listener) => !others.includes(listener));
  expect(own).toHaveLength(1);
  expect(await said(main)).toEqual({ type: 'ready' });
  const { bucket, startUs } = planArrivals(200, 1, 20);
  const go: LoadCommand = { type: 'go', bucket: bucket.handle, startUs, endUs: startUs + 3e5 };
  const done = new Promise<LoadEvent & { type: 'done' }>((resolve) => {
    main.on('message', (event: LoadEvent) => event.type === 'done' && resolve(event));
  });
  main.postMessage(go);
  const { tally, failure } = await done;
  const { sent } = tally.counters;
  expect(sent).toBeGreaterThan(2);
  expect(tally.counters).toEqual({ sent, succeeded: sent - 1, failed: 1 });
  expect([...tally.errors.values()]).toEqual([{ kind: 'RangeError', count: 1, example: 'r' }]);
  expect(failure).toBeUndefined();
  // It no longer watches for the end of its thread.
  expect(process.listeners('exit')).not.toContain(own[0]);
});

it('a thread says why it can not get ready', async () => {
  const [port, main] = channel();
  runTaskThread(port, taskData('export default 1'));
  expect(await said(main)).toMatchObject({
    type: 'unready',
    reason: expect.stringMatching(/must export a function as default, got 1$/),
  });
});

function closedData(code: string, timeoutMs = 1_000): RoundThreadData {
  const task = { url: codeUrl(code), data: undefined, concurrency: 2, thread: 0, threads: 1 };
  const stop = new Int32Array(new SharedArrayBuffer(4));
  const ticks = new Int32Array(new SharedArrayBuffer(4));
  const gate = new RoundGate(1).words;
  return { task, timeoutMs, stop, ticks, gate };
}

it('a thread of a closed loop calls in rounds, of which the warm-up does not count', async () => {
  const [port, main] = channel();
  const code = `
    export default async ({ sequence }) => { if (sequence === 0) throw new RangeError('early'); };
    export const teardown = () => new Promise(() => {});
  `;
  runRoundThread(port, closedData(code, 1_000));
  expect(await said(main)).toEqual({ type: 'ready' });
  const counts: number[] = [];
  for (const isCounted of [false, true]) {
    const startUs = Number(process.hrtime.bigint()) / 1_000;
    const command: LoadCommand = {
      type: 'round',
      latestUs: startUs,
      lengthUs: 5_000,
      counts: isCounted,
    };
    main.postMessage(command);
    const { round } = await said<LoadEvent & { type: 'round' }>(main);
    expect(round.counters.failed).toBe(isCounted ? 0 : 1);
    expect(round.elapsedUs).toBeGreaterThan(0);
    counts.push(round.counters.sent);
  }
  main.postMessage({ type: 'end' } satisfies LoadCommand);
  const done = await said<LoadEvent & { type: 'done' }>(main);
  expect([...done.tally.errors]).toEqual([]);
  expect(done.failure).toBe('teardown took longer than 1000 ms');
  expect(counts[1]).toBeGreaterThan(0);
});

it('a thread of a closed loop says why it can not get ready', async () => {
  const [port, main] = channel();
  runRoundThread(port, closedData('export default 1'));
  expect(await said(main)).toMatchObject({ type: 'unready' });
});

/** Whether this Node.js strips types by itself: 22.18 and newer. */
const STRIPS_TYPES = Boolean((process.features as { readonly typescript?: unknown }).typescript);

it('a task may be TypeScript where Node.js strips types; elsewhere drive says that it cannot', async () => {
  const folder = folderOfTest();
  const path = written(
    folder,
    'task.ts',
    `interface Call { readonly sequence: number }
     export default function call({ sequence }: Call): number { return sequence as number; }`,
  );
  const options = { task: pathToFileURL(path), rate: 100, durationMs: 50, gates: NO_GATES };
  const run = () => drive(options);
  if (!STRIPS_TYPES) {
    await expect(run()).rejects.toThrow(/task\.ts cannot be loaded: .*ERR_UNKNOWN_FILE_EXTENSION/);
    return;
  }
  const result = await runUntil(({ calls }) => calls.sent > 0, run);
  expect(result.verdict.reasons).toEqual([]);
});

class Odd extends Error {
  override readonly name = 'Odd';
}

it.each([
  [new Odd('first line\nsecond'), 'Odd', 'first line'],
  [Object.assign(new Error('no'), { code: 'E_NO' }), 'Error E_NO', 'no'],
  [Object.assign(new Error('no'), { code: 7 }), 'Error', 'no'],
  ['text', 'thrown string', 'text'],
  [undefined, 'thrown undefined', 'undefined'],
  [null, 'thrown object', 'null'],
  [Symbol('s'), 'thrown symbol', 'Symbol(s)'],
  [{}, 'thrown object', ''],
  [{ name: 'x'.repeat(200), message: 'y'.repeat(500) }, 'x'.repeat(80), 'y'.repeat(200)],
  [
    new Proxy(
      {},
      {
        get() {
          throw new Error('trap');
        },
      },
    ),
    'thrown object',
    '',
  ],
])('names the thrown value %#', (thrown, kind, example) => {
  expect(failureOf(thrown)).toEqual({ kind, example });
});
