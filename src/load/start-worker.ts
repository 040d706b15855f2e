import { Worker } from 'node:worker_threads';

/** Starts a thread. If `workerData` can't be cloned, the task's `data` is to blame. */
export function startWorker(code: URL, workerData: object): Worker {
  try {
    return new Worker(code, { workerData });
  } catch (error) {
    if (!(error instanceof DOMException) || error.name !== 'DataCloneError') throw error;
    throw new TypeError(`data must be cloneable: ${error.message}`, { cause: error });
  }
}
