import type * as WorkerThreads from 'node:worker_threads';
import { TICKER_CLOCK } from '../memory/layout.ts';
import { nodeModule } from '../memory/node-module.ts';
import { runTicker } from './ticker.ts';
import type { TickerCell } from './ticker-cell.ts';
import { canLowerTimerSlack, lowerTimerSlack } from './timer-slack.ts';

/** The parts of a browser's Worker that a ticker uses. Only the DOM library declares them. */
interface WebWorker {
  onmessage: (() => void) | null;
  onerror: ((event: { message?: string }) => void) | null;
  postMessage(message: unknown): void;
  terminate(): void;
}

/**
 * Starts the thread that publishes the time in `cell`, with low timer slack if `precise`. Resolves
 * at its first tick with a function that stops it. The thread does not keep the process alive. It
 * may end at any time without an error: readers then use the system clock.
 */
export async function startTicker(cell: TickerCell, precise: boolean): Promise<() => void> {
  const threads = await nodeThreads();
  return threads === undefined ? startInBrowser(cell) : startInNode(cell, precise, threads);
}

/** The core's only dependency on Node, loaded only to start a ticker; undefined in a browser. */
async function nodeThreads(): Promise<typeof WorkerThreads | undefined> {
  const { process } = globalThis;
  if (process?.versions?.node === undefined) return undefined;
  const loaded = nodeModule<typeof WorkerThreads>('worker_threads');
  // The name is computed, because bundlers for browsers fail on modules of Node.
  const name = ['node', 'worker_threads'].join(':');
  return loaded ?? (await import(/* webpackIgnore: true */ name));
}

function startInNode(
  cell: TickerCell,
  precise: boolean,
  { Worker }: typeof WorkerThreads,
): Promise<() => void> {
  return new Promise((resolve, reject) => {
    const slack =
      precise && canLowerTimerSlack() ? `(${lowerTimerSlack})(require('node:fs'));` : '';
    const program = `${slack}(${runTicker})(require('node:worker_threads'), ${JSON.stringify(TICKER_CLOCK)})`;
    const worker = new Worker(program, {
      eval: true,
      workerData: cell.buffer,
      // Ignore the process's options, including NODE_OPTIONS: it needs no loader or debugger.
      execArgv: [],
      env: {},
    });
    worker.once('message', () => {
      worker.unref();
      resolve(() => void worker.terminate());
    });
    worker.on('error', reject);
    worker.on('exit', () => {
      cell.end();
      reject(new Error('the ticker ended before its first tick'));
    });
  });
}

function startInBrowser(cell: TickerCell): Promise<() => void> {
  const { Worker } = globalThis as unknown as { Worker: new (url: string) => WebWorker };
  const program = `onmessage = ({ data }) => (${runTicker})({ parentPort: self, workerData: data }, ${JSON.stringify(TICKER_CLOCK)})`;
  const url = URL.createObjectURL(new Blob([program], { type: 'text/javascript' }));
  return new Promise<() => void>((resolve, reject) => {
    const worker = new Worker(url);
    worker.onmessage = () => resolve(() => worker.terminate());
    worker.onerror = ({ message }) => {
      cell.end();
      reject(
        new Error(`the ticker cannot start: ${message ?? 'a policy forbids workers from blob:'}`),
      );
    };
    worker.postMessage(cell.buffer);
  }).finally(() => URL.revokeObjectURL(url));
}
