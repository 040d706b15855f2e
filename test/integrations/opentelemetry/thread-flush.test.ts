import { spawn } from 'node:child_process';
import { EventEmitter, once } from 'node:events';
import { createServer } from 'node:http';
import { createInterface } from 'node:readline';
import { json } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import type * as WorkerThreads from 'node:worker_threads';
import { describe, expect, onTestFinished, test } from 'vitest';
import { ThreadFlush } from '../../../src/integrations/opentelemetry/registration.ts';
import { urlOf } from '../../support/frameworks.ts';
import { IN_FULL } from '../../support/random.ts';
import { withResolvers } from '../../support/settled.ts';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));

/** Threads whose messages arrive when the test says so. */
function someThreads() {
  const channels = new Set<{ onmessage: (message: { data: unknown }) => void }>();
  let sent: (() => void)[] = [];
  class Channel {
    onmessage = (_: { data: unknown }): void => {};
    constructor() {
      channels.add(this);
    }
    postMessage(data: unknown): void {
      sent.push(() => {
        for (const channel of channels) if (channel !== this) channel.onmessage({ data });
      });
    }
    unref(): void {}
  }
  const thread = (threadId: number, end = async () => {}) => {
    const started = new EventEmitter();
    const threads = { BroadcastChannel: Channel, isMainThread: threadId === 0, threadId };
    const flush = new ThreadFlush(threads as never as typeof WorkerThreads, started, end);
    /** Starts a worker, and returns what ends it. */
    const start = (worker: number) => {
      const emitter = Object.assign(new EventEmitter(), { threadId: worker });
      started.emit('worker', emitter);
      return () => emitter.emit('exit');
    };
    return { flush: () => flush.flush(), start };
  };
  const deliver = async () => {
    for (let turn = 0; turn < 5; turn++) {
      const now = sent;
      sent = [];
      for (const each of now) each();
      await new Promise(setImmediate);
    }
  };
  return { thread, deliver };
}

const never = () => new Promise<void>(() => {});

/** Whether a promise has settled by now. */
function watched(promise: Promise<unknown>): { isDone: boolean } {
  const state = { isDone: false };
  promise.then(() => {
    state.isDone = true;
  });
  return state;
}

describe('the end of a process', () => {
  test('waits until each worker has exported what is left', async () => {
    const { thread, deliver } = someThreads();
    const main = thread(0);
    const { promise: ended, resolve: end } = withResolvers();
    const calls: number[] = [];
    thread(1, async () => void calls.push(1));
    thread(2, async () => {
      calls.push(2);
      await ended;
    });
    await deliver();
    const flushed = watched(main.flush());
    await deliver();
    expect([calls, flushed.isDone]).toEqual([[1, 2], false]);
    end();
    await deliver();
    expect(flushed.isDone).toBe(true);
  });

  test('does not wait for workers that have ended, nor for those that export nothing', async () => {
    const { thread, deliver } = someThreads();
    const main = thread(0);
    const endOfFirst = main.start(1);
    const first = thread(1, never);
    await deliver();
    const endOfNested = first.start(3);
    thread(3, never);
    main.start(4); // exports nothing
    await deliver();
    const flushed = watched(main.flush());
    await new Promise(setImmediate);
    endOfNested();
    await deliver();
    expect(flushed.isDone).toBe(false);
    endOfFirst();
    await deliver();
    expect(flushed.isDone).toBe(true);
    // The main thread hears of the end before it hears of the beginning.
    const end = main.start(5);
    thread(5, never);
    end();
    await deliver();
    const late = watched(main.flush());
    await new Promise(setImmediate);
    expect(late.isDone).toBe(true);
  });
});

const WORKER = `
  Promise.all([import('@opentelemetry/api'), import('node:worker_threads')]).then(
    ([{ trace }, { parentPort }]) => {
      trace.getTracer('test').startSpan('worker').end();
      parentPort.postMessage('made');
      setInterval(() => {}, 1e6);
    },
  );
`;
const PROGRAM = `
  import { once } from 'node:events';
  import { Worker } from 'node:worker_threads';
  import { trace } from '@opentelemetry/api';
  const workers = [1, 2].map(() => new Worker(${JSON.stringify(WORKER)}, { eval: true }));
  await Promise.all(workers.map((worker) => once(worker, 'message')));
  trace.getTracer('test').startSpan('main').end();
  console.log('made');
  setInterval(() => {}, 1e6);
`;

interface Sent {
  readonly resourceSpans: { scopeSpans: { spans: { name: string }[] }[] }[];
}

/** Runs the program until SIGTERM ends it; resolves with the names of its exported spans. */
async function exported(): Promise<string[]> {
  const names: string[] = [];
  const collector = createServer(async (request, response) => {
    const { resourceSpans } = (await json(request)) as Sent;
    const spans = resourceSpans.flatMap((each) => each.scopeSpans.flatMap((one) => one.spans));
    names.push(...spans.map(({ name }) => name));
    response.setHeader('content-type', 'application/json').end('{}');
  });
  const url = await urlOf(collector);
  const args = [
    '--import',
    'zerotime/opentelemetry/register',
    '--input-type=module',
    '-e',
    PROGRAM,
  ];
  const child = spawn(process.execPath, args, {
    cwd: ROOT,
    env: {
      ...process.env,
      ZEROTIME_TRACES_PER_SECOND: '1000',
      OTEL_EXPORTER_OTLP_ENDPOINT: url.slice(0, -1),
      OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
      OTEL_METRICS_EXPORTER: 'none',
      OTEL_LOGS_EXPORTER: 'none',
      OTEL_BSP_SCHEDULE_DELAY: '1000000', // only the end exports them
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  const exit = once(child, 'exit');
  await once(createInterface(child.stdout), 'line');
  expect(names).toEqual([]);
  child.kill('SIGTERM');
  expect(await exit).toEqual([null, 'SIGTERM']);
  return names.sort();
}

test.runIf(IN_FULL)(
  'SIGTERM exports the spans of all threads, and still ends the process',
  async () => {
    let names = await exported();
    // A machine that is very busy may not export them within 5 s.
    for (let tries = 1; names.length < 3 && tries < 5; tries++) names = await exported();
    expect(names).toEqual(['main', 'worker', 'worker']);
  },
);
