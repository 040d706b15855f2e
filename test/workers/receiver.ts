import { parentPort, workerData } from 'node:worker_threads';
import { attach, type BucketHandle } from '../../src/index.ts';

/** A bucket's handle, as it arrived in a thread. */
export type ReceivedHandle = BucketHandle<'token-bucket'> | BucketHandle<'leaky-bucket'>;

// Takes one token from the bucket that came with the thread, and from each that is sent to it.
function take(handle: ReceivedHandle): void {
  const bucket =
    handle.zerotime === 'token-bucket'
      ? attach(handle as BucketHandle<'token-bucket'>)
      : attach(handle as BucketHandle<'leaky-bucket'>);
  parentPort?.postMessage({ kind: bucket.constructor.name, taken: bucket.tryConsume() });
}

parentPort?.on('message', take);
take(workerData);
