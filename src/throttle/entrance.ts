import { throttleClosed, tooMany } from './refusals.ts';

/** Decides whether calls may enter a queue. */
export class Entrance {
  readonly #maxQueue: number;
  #isClosed = false;

  constructor(maxQueue: number) {
    this.#maxQueue = maxQueue;
  }

  close(): void {
    this.#isClosed = true;
  }

  /** @throws RateLimitError once it is closed. */
  checkOpen(): void {
    if (this.#isClosed) throw throttleClosed();
  }

  /** @throws RateLimitError if the queue is full. */
  checkRoom(waiting: number): void {
    if (waiting >= this.#maxQueue) throw tooMany(this.#maxQueue);
  }

  /** {@link checkOpen} and {@link checkRoom}. */
  check(waiting: number): void {
    this.checkOpen();
    this.checkRoom(waiting);
  }
}
