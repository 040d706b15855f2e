import type { Limiter, WaitOptions } from '../limiters/limiter.ts';
import type { Reservation } from '../limiters/reservation.ts';
import type { SharedEvent } from '../memory/event.ts';

/** The limiter methods that throttling needs. Every zerotime limiter has them. */
export interface TaskLimiter extends Pick<Limiter, 'clock' | 'tryConsume'> {
  /** Waits until `n` tokens are available, and takes them. */
  wait(n?: number, options?: WaitOptions): Promise<unknown>;
}

/** Methods that some limiters have. */
export interface Abilities {
  readonly limit?: number;
  readonly rate?: number;
  /** Fires when due instants may have moved. */
  readonly changes?: SharedEvent;
  /** Whether tokens may be there although earlier ones that were reserved are not due. */
  readonly overtakes?: boolean;
  /** Without it, only one token can be promised at a time. */
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

/**
 * Takes a token that is due within `maxWaitMs`. Otherwise takes nothing, and returns undefined or
 * reports a failure.
 *
 * @param onToken called when an awaited token has come
 * @param onFailure called when it cannot come
 */
export function promiseToken(
  limiter: TaskLimiter & Abilities,
  maxWaitMs: number,
  onToken: () => void,
  onFailure: (token: TokenPromise, reason: unknown) => void,
): TokenPromise | undefined {
  if (limiter.reserve !== undefined) return limiter.reserve(1, { maxWaitMs });
  const token = new AwaitedToken(limiter);
  token.wait(maxWaitMs).then(onToken, (reason) => onFailure(token, reason));
  return token;
}
