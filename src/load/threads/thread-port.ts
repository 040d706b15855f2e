import type { MessagePort } from 'node:worker_threads';
import type { LastReport, LoadCommand, LoadEvent } from './messages.ts';

/** Thrown if a thread can't get ready, with a message for the user. */
export class UnreadyError extends Error {
  override readonly name = 'UnreadyError';
}

/** A thread's end of the channel to the main thread. */
export class ThreadPort {
  readonly #port: MessagePort;
  #settleDone: () => void = () => undefined;
  #isClosed = false;
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
      this.#end({ type: 'unready', reason: error.message });
    }
  }

  post(event: LoadEvent): void {
    const transfer = 'admissions' in event ? [event.admissions.buffer] : [];
    this.#port.postMessage(event, transfer);
  }

  /** Closes the work, then posts the last report, which says why closing failed. */
  async close(work: { close(): unknown }, last: () => Omit<LastReport, 'failure'>): Promise<void> {
    try {
      await work.close();
      this.conclude(last());
    } catch (error) {
      this.conclude({ ...last(), failure: (error as Error).message });
    }
  }

  /** Posts the last report immediately, if none is posted yet. */
  conclude(last: LastReport): void {
    if (!this.#isClosed) this.#end({ type: 'done', ...last });
  }

  #end(event: LoadEvent): void {
    this.#isClosed = true;
    this.post(event);
    this.#port.close();
    this.#settleDone();
  }
}
