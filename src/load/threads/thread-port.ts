import type { MessagePort } from 'node:worker_threads';
import type { LoadCommand, LoadEvent } from './messages.ts';

/** Thrown if a thread can't get ready, with a message for the user. */
export class UnreadyError extends Error {
  override readonly name = 'UnreadyError';
}

/** A thread's end of the channel to the main thread. */
export class ThreadPort {
  readonly #port: MessagePort;
  #settleDone: () => void = () => undefined;
  /** Resolves when the last message is posted. */
  readonly done = new Promise<void>((resolve) => {
    this.#settleDone = resolve;
  });

  /** Says that the thread is ready once it is prepared, or why it can't get ready. */
  constructor(
    port: MessagePort,
    prepare: () => Promise<unknown>,
    obey: (command: LoadCommand) => void,
  ) {
    this.#port = port;
    port.on('message', obey);
    void this.#prepare(prepare);
  }

  async #prepare(prepare: () => Promise<unknown>): Promise<void> {
    try {
      await prepare();
      this.post({ type: 'ready' });
    } catch (error) {
      // Any other error crashes the thread, and the main thread reports it.
      if (!(error instanceof UnreadyError)) throw error;
      this.post({ type: 'unready', reason: error.message });
      this.close();
    }
  }

  readonly post = (event: LoadEvent, transfer: ArrayBuffer[] = []): void => {
    this.#port.postMessage(event, transfer);
  };

  close(): void {
    this.#port.close();
    this.#settleDone();
  }
}
