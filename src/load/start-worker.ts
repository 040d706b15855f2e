import { Worker } from 'node:worker_threads';

/** Starts a thread. Of what it gets, only the data of a task may be something that can't be copied. */
export function startWorker(code: URL, workerData: object): Worker {
  try {
    return new Worker(code, { workerData });
  } catch (error) {
    if (!(error instanceof DOMException) || error.name !== 'DataCloneError') throw error;
    throw new TypeError(`data must be cloneable: ${error.message}`, { cause: error });
  }
}
