import { RateLimitError } from '../errors.ts';
import type { Outcome } from './call.ts';

/** The error of a call that cannot start because of a close. */
export function throttleClosed(): RateLimitError {
  return new RateLimitError('ERR_THROTTLE_CLOSED', 'closed before the call could start');
}

function tooMany(maxQueue: number): RateLimitError {
  return new RateLimitError('ERR_QUEUE_FULL', `the queue is full: maxQueue is ${maxQueue}`);
}

const OUTCOMES: Partial<Record<RateLimitError['code'], Outcome>> = {
  ERR_QUEUE_FULL: 'refused',
  ERR_THROTTLE_CLOSED: 'refused',
  ERR_RATE_LIMIT_TIMEOUT: 'timedOut',
};

/** The outcome of a call that cannot start, by the error. */
export function outcomeOf(error: unknown): Outcome {
  return (error instanceof RateLimitError && OUTCOMES[error.code]) || 'failed';
}

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
