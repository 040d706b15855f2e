import type * as WorkerThreads from 'node:worker_threads';
import { TICKER_CLOCK } from '../memory/layout.ts';
import { nodeModule } from '../memory/runtime.ts';
import { canLowerTimerSlack, lowerTimerSlack } from './precise.ts';
import type { TickerCell } from './ticker-reader.ts';

/** The parts of `node:worker_threads` that a ticker uses. */
interface Thread {
  readonly parentPort: { postMessage(message: unknown): void } | null;
  readonly workerData: SharedArrayBuffer;
}

/**
 * Publishes the time once per period until its thread ends, or without pause if it spins. The
 * thread runs this function's source text, because bundlers would not include a separate file.
 * Invariant: it uses only its arguments and globals, and contains no function, because bundlers
 * that keep names would wrap that in a call to a helper.
 */
export function runTicker({ parentPort, workerData }: Thread, offsets: typeof TICKER_CLOCK): never {
  const time = new Float64Array(1);
  const bits = new BigInt64Array(time.buffer);
  const cell = new BigInt64Array(workerData, offsets.now, 1);
  const beats = new Int32Array(workerData, offsets.beats, 1);
  const periodUs = new Float64Array(workerData, offsets.periodUs, 1)[0] as number; // never out of bounds
  const bed = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
  const isNode = typeof process === 'object' && typeof process.hrtime === 'function';
  if (periodUs < 1) {
    // Store only a changed time: each store takes the line from the readers.
    let beat = 0;
    if (parentPort !== null) parentPort.postMessage('ticking');
    // Any branch in this loop would make V8 allocate for each reading.
    if (isNode) {
      for (;;) {
        const read = process.hrtime();
        const next = Math.floor((read[0] * 1e6 + read[1] / 1e3) / periodUs) | 0;
        if (next !== beat) Atomics.store(beats, 0, next);
        beat = next;
      }
    }
    for (;;) {
      const next = Math.floor(((performance.timeOrigin + performance.now()) * 1000) / periodUs) | 0;
      if (next !== beat) Atomics.store(beats, 0, next);
      beat = next;
    }
  }
  let dueUs = 0;
  for (;;) {
    // The same reading as the system clock's.
    const read = isNode ? process.hrtime() : undefined;
    const nowUs = read
      ? read[0] * 1e6 + read[1] / 1e3
      : (performance.timeOrigin + performance.now()) * 1000;
    if (nowUs < dueUs) {
      Atomics.wait(bed, 0, 0, (dueUs - nowUs) / 1000);
      continue;
    }
    time[0] = nowUs;
    Atomics.store(cell, 0, bits[0] as bigint); // the same eight bytes
    Atomics.add(beats, 0, 1);
    if (dueUs === 0 && parentPort !== null) parentPort.postMessage('ticking');
    // Count from the due time, so that late wake-ups do not add up. Missed ticks are skipped.
    dueUs = Math.max(dueUs + periodUs, nowUs);
  }
}

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
