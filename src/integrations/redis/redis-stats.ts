import type { RateLimitError } from '../../errors.ts';

/** What the calls of this object came to, since it was made. */
export interface RedisStats {
  /** Calls that asked for tokens. */
  readonly calls: number;
  /** Tokens admitted, by the server or by this process's own part. Those given back are not taken off. */
  readonly admitted: number;
  /** Calls that got nothing. */
  readonly refused: number;
  /** Calls that got no answer of the server in time. */
  readonly unreachable: number;
}

/** Counts calls, and tells when the server ceases to answer. */
export class CallCounts {
  readonly #onUnreachable: (error: RateLimitError) => void;
  #calls = 0;
  #admitted = 0;
  #refused = 0;
  #unreachable = 0;
  #isUp = true;

  constructor(onUnreachable: (error: RateLimitError) => void) {
    this.#onUnreachable = onUnreachable;
  }

  /** A call that asked for tokens is over. */
  count(admitted: number, isRefused: boolean): void {
    this.#calls++;
    this.#admitted += admitted;
    if (isRefused) this.#refused++;
  }

  answered(): void {
    this.#isUp = true;
  }

  unanswered(error: RateLimitError): void {
    this.#unreachable++;
    const wasUp = this.#isUp;
    this.#isUp = false;
    if (wasUp) this.#onUnreachable(error);
  }

  stats(): RedisStats {
    return {
      calls: this.#calls,
      admitted: this.#admitted,
      refused: this.#refused,
      unreachable: this.#unreachable,
    };
  }
}
