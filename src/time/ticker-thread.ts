import { TICKER_CLOCK } from '../memory/layout.ts';
import { runTicker } from './ticker.ts';
import type { TickerCell } from './ticker-cell.ts';

/**
 * Starts the thread that publishes the time in `cell`. Resolves at its first tick with a function
 * that stops it. It does not keep the process alive. It may end at any time without an error:
 * readers then use the system clock.
 */
export async function startTicker(cell: TickerCell): Promise<() => void> {
  // The core's only dependency on Node, loaded only to start a ticker.
  const { Worker } = await import('node:worker_threads');
  return new Promise((resolve, reject) => {
    const program = `(${runTicker})(require('node:worker_threads'), ${JSON.stringify(TICKER_CLOCK)})`;
    // Ignore the process's options: the thread needs no loader or debugger.
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
