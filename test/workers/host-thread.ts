import { parentPort } from 'node:worker_threads';
import { HostRegion } from '../../src/host.ts';
import { type LimiterHandle, Semaphore } from '../../src/index.ts';

/** What a thread does with the semaphore of a region in a file. */
export type ThreadJob =
  /** Opens the region itself, holds permits, and answers with its handle. */
  | { readonly hold: string; readonly permits: number }
  /** Opens the region and closes it again. */
  | { readonly close: string }
  /** Attaches, holds permits, and answers with the thread's handle. */
  | { readonly attach: LimiterHandle<'semaphore'>; readonly permits: number }
  /** Attaches, blocks until a permit is there, and stores how many it got. */
  | { readonly block: LimiterHandle<'semaphore'>; readonly result: Int32Array<SharedArrayBuffer> };

const TIMEOUT_MS = 5000;
let kept: Semaphore | undefined;

parentPort?.on('message', (job: ThreadJob) => {
  if ('block' in job) {
    kept = Semaphore.attach(job.block);
    Atomics.store(job.result, 0, 1);
    Atomics.notify(job.result, 0);
    const permit = kept.acquireSync(1, { timeoutMs: TIMEOUT_MS });
    Atomics.store(job.result, 0, 2 + (permit?.n ?? 0));
    Atomics.notify(job.result, 0);
    return;
  }
  if ('close' in job) {
    HostRegion.open({ path: job.close }).close();
    parentPort?.postMessage('closed');
    return;
  }
  kept =
    'hold' in job
      ? Semaphore.open(HostRegion.open({ path: job.hold }), 'permits', { permits: 3 })
      : Semaphore.attach(job.attach);
  kept.tryAcquire(job.permits);
  parentPort?.postMessage(kept.handle);
});
parentPort?.postMessage('ready');
