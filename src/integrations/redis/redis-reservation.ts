import { systemClock } from '../../time/system-clock.ts';

/**
 * Tokens reserved on a server. Act at the reserved instant or later, or cancel. A change of the
 * limit does not move the instant.
 */
export class RedisReservation {
  /** Milliseconds to wait before acting, from the server's response on; 0 means now. */
  readonly waitMs: number;
  /** The instant, in microseconds of `systemClock`. */
  readonly atUs: number;
  #cancel: (() => Promise<boolean>) | undefined;

  /** @internal */
  constructor(waitMs: number, atUs: number, cancel: () => Promise<boolean>) {
    this.waitMs = waitMs;
    this.atUs = atUs;
    this.#cancel = cancel;
  }

  /**
   * Returns the tokens, up to {@link atUs}. Resolves with whether that succeeded: only if no call on
   * any machine has taken or returned tokens since, and the limit has not changed. Otherwise, or if
   * the server does not respond, the tokens are lost. Only the first call can resolve with true.
   *
   * After `atUs` it does nothing and resolves with false: you may have acted. If you have not, return
   * the tokens with `returnTokens`. Tokens that were available at once are due at once.
   */
  async cancel(): Promise<boolean> {
    if (systemClock.now() > this.atUs) return false;
    const cancel = this.#cancel;
    this.#cancel = undefined;
    return cancel === undefined ? false : cancel();
  }
}
