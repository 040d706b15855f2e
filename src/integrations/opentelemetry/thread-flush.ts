import type * as WorkerThreads from 'node:worker_threads';

/** The parts of a thread's `process` that are used. */
interface StartingThreads {
  on(event: 'worker', listener: (worker: WorkerThreads.Worker) => void): unknown;
}

type Notice =
  | { readonly joined: number }
  | { readonly flushed: number }
  | { readonly left: number }
  | { readonly flush: true };

const CHANNEL = 'zerotime.flush';

/**
 * Makes workers export pending spans before a signal ends the process: workers get no signals. Keeps
 * no thread open.
 */
export class ThreadFlush {
  readonly #channel: WorkerThreads.BroadcastChannel;
  /** The ids of the workers that export spans. */
  readonly #workers = new Set<number>();
  /** Workers whose exit arrived before their `joined`. */
  readonly #early = new Set<number>();
  #flushed: (() => void) | undefined;

  /** `end` exports the pending spans of this thread. */
  constructor(
    { BroadcastChannel, isMainThread, threadId }: typeof WorkerThreads,
    started: StartingThreads,
    end: () => Promise<unknown>,
  ) {
    const channel = new BroadcastChannel(CHANNEL);
    this.#channel = channel;
    const send = (notice: Notice) => channel.postMessage(notice);
    channel.onmessage = (message) => {
      const notice = (message as { readonly data: Notice }).data;
      if (isMainThread) this.#note(notice);
      else if ('flush' in notice) end().then(() => send({ flushed: threadId }));
    };
    channel.unref();
    if (!isMainThread) send({ joined: threadId });
    started.on('worker', (worker) => {
      const left = { left: worker.threadId };
      worker.once('exit', () => (isMainThread ? this.#note(left) : send(left)));
    });
  }

  #note(notice: Notice): void {
    if ('joined' in notice) {
      if (!this.#early.delete(notice.joined)) this.#workers.add(notice.joined);
    } else if ('flushed' in notice) {
      this.#workers.delete(notice.flushed);
    } else if ('left' in notice && !this.#workers.delete(notice.left)) {
      this.#early.add(notice.left);
    }
    if (this.#workers.size === 0) this.#flushed?.();
  }

  /** In the main thread: resolves when each worker has exported its spans or ended. */
  async flush(): Promise<void> {
    if (this.#workers.size === 0) return;
    const flushed = new Promise<void>((resolve) => {
      this.#flushed = resolve;
    });
    this.#channel.postMessage({ flush: true } satisfies Notice);
    await flushed;
  }
}
