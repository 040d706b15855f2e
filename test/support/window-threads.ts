import { Worker } from 'node:worker_threads';

/** Starts a thread of test/workers, which ends with the test's process at the latest. */
export function startThread(name: string, workerData: unknown): Worker {
  return new Worker(new URL(`../../dist/test/workers/${name}.js`, import.meta.url), { workerData });
}

/** The next message of a thread; rejects if it fails or ends first. */
export function nextMessage<T>(thread: Worker): Promise<T> {
  return new Promise((resolve, reject) => {
    const settle = () => {
      thread.off('message', onMessage);
      thread.off('error', onError);
      thread.off('exit', onExit);
    };
    const onMessage = (message: T) => {
      settle();
      resolve(message);
    };
    const onError = (error: unknown) => {
      settle();
      reject(error);
    };
    const onExit = (code: number) => {
      settle();
      reject(new Error(`the thread ended with code ${code}`));
    };
    thread.on('message', onMessage);
    thread.on('error', onError);
    thread.on('exit', onExit);
  });
}

/** A gate in shared memory: threads block at it until it is opened. */
export class Gate {
  readonly buffer: SharedArrayBuffer;
  readonly #state: Int32Array;

  constructor(buffer = new SharedArrayBuffer(4)) {
    this.buffer = buffer;
    this.#state = new Int32Array(buffer);
  }

  open(): void {
    Atomics.store(this.#state, 0, 1);
    Atomics.notify(this.#state, 0);
  }

  get isOpen(): boolean {
    return Atomics.load(this.#state, 0) === 1;
  }

  pass(): void {
    Atomics.wait(this.#state, 0, 0);
  }
}
