import { TICKER_CLOCK } from '../memory/layout.ts';
import { runTicker } from './ticker.ts';
import type { TickerCell } from './ticker-cell.ts';

/**
 * Starts the thread that publishes the time in `cell`. Resolves at its first tick, with what stops
 * it. It does not keep the process alive, and no way of its ending is an error: readers are told.
 */
export async function startTicker(cell: TickerCell): Promise<() => void> {
  // The only use of Node in the core, and none for those who only read.
  const { Worker } = await import('node:worker_threads');
  return new Promise((resolve, reject) => {
    const program = `(${runTicker})(require('node:worker_threads'), ${JSON.stringify(TICKER_CLOCK)})`;
    // Without the options of the process: a loader or a debugger has no business there.
    const worker = new Worker(program, { eval: true, workerData: cell.buffer, execArgv: [] });
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
