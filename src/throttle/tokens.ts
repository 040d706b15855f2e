import type { Limiter, WaitOptions } from '../limiters/limiter.ts';
import type { Reservation } from '../limiters/reservation.ts';
import type { SharedEvent } from '../memory/event.ts';

/** The limiter methods that throttling needs. Every zerotime limiter has them. */
export interface TaskLimiter extends Pick<Limiter, 'clock' | 'tryConsume'> {
  /** Waits until `n` tokens are available, and takes them. */
  wait(n?: number, options?: WaitOptions): Promise<unknown>;
}

/** Methods that some limiters have. */
interface Abilities {
  readonly limit?: number;
  readonly rate?: number;
  readonly changes?: SharedEvent;
  reserve?(n: number, options: { readonly maxWaitMs: number }): Reservation | undefined;
  returnTokens?(n: number): void;
  timeUntil?(tokens: number): number;
}

/** A token that is granted later. */
export interface TokenPromise {
  /** When, by the limiter's clock; Infinity until known. It may move. */
  readonly dueUs: number;
  /** Returns the unused token, due or not, if the limiter can take it back. */
  putBack(): unknown;
}

/** A token of a limiter that cannot reserve: a caller in its queue. */
class AwaitedToken implements TokenPromise {
  dueUs = Number.POSITIVE_INFINITY;
  readonly #limiter: TaskLimiter & Abilities;
  readonly #end = new AbortController();

  constructor(limiter: TaskLimiter) {
    this.#limiter = limiter;
  }

  async wait(timeoutMs: number): Promise<void> {
    await this.#limiter.wait(1, { timeoutMs, signal: this.#end.signal });
    if (this.#end.signal.aborted) this.#limiter.returnTokens?.(1);
    this.dueUs = Number.NEGATIVE_INFINITY;
  }

  putBack(): void {
    if (this.dueUs === Number.NEGATIVE_INFINITY) this.#limiter.returnTokens?.(1);
    else this.#end.abort();
  }
}

/** A limiter as {@link Dispatcher} uses it: one token for each call. */
export class Tokens {
  readonly #limiter: TaskLimiter & Abilities;
  /** Called when an awaited token has come, and when it cannot come. */
  readonly #onToken: () => void;
  readonly #onFailure: (token: TokenPromise, reason: unknown) => void;

  constructor(
    limiter: TaskLimiter,
    onToken: () => void,
    onFailure: (token: TokenPromise, reason: unknown) => void,
  ) {
    this.#limiter = limiter;
    this.#onToken = onToken;
    this.#onFailure = onFailure;
  }

  /** Fires when due instants may have moved. */
  get changes(): SharedEvent | undefined {
    return this.#limiter.changes;
  }

  /** Whether several tokens can be promised at a time. */
  get canReserve(): boolean {
    return this.#limiter.reserve !== undefined;
  }

  /** Takes a token now; false if there is none. */
  take(): boolean {
    return this.#limiter.tryConsume();
  }

  /**
   * Takes a token that is due within `maxWaitMs`. Otherwise takes nothing, and returns undefined or
   * reports a failure.
   */
  promise(maxWaitMs: number): TokenPromise | undefined {
    const limiter = this.#limiter;
    if (limiter.reserve !== undefined) return limiter.reserve(1, { maxWaitMs });
    const token = new AwaitedToken(limiter);
    token.wait(maxWaitMs).then(this.#onToken, (reason) => this.#onFailure(token, reason));
    return token;
  }

  /** Tokens per second; 0 if unknown. */
  get rate(): number {
    return this.#limiter.rate ?? 0;
  }

  /** Whether a look that is late by `ms` would lose tokens, because the bucket would be full. */
  isFullWithin(ms: number): boolean {
    const { limit } = this.#limiter;
    return limit !== undefined && (this.#limiter.timeUntil?.(limit) ?? ms) < ms;
  }
}
