import { parentPort, workerData } from 'node:worker_threads';
import { attach, type LimiterHandle } from '../../src/index.ts';

/** A bucket's handle as received in a thread. */
export type ReceivedHandle = LimiterHandle<'token-bucket'> | LimiterHandle<'leaky-bucket'>;

// Takes one token from the bucket in its workerData, and one from each bucket that is posted to it.
function take(handle: ReceivedHandle): void {
  const bucket =
    handle.zerotime === 'token-bucket'
      ? attach(handle as LimiterHandle<'token-bucket'>)
      : attach(handle as LimiterHandle<'leaky-bucket'>);
  parentPort?.postMessage({ kind: bucket.constructor.name, taken: bucket.tryConsume() });
}

parentPort?.on('message', take);
take(workerData);
