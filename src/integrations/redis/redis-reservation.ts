/**
 * Tokens promised for an instant by a server. Act at that instant or later, or give them back. A
 * change of the limit does not move it.
 */
export class RedisReservation {
  /** Milliseconds to wait before acting, from when the server's answer came; 0 is now. */
  readonly waitMs: number;
  /** The same instant, in microseconds of `systemClock`. */
  readonly atUs: number;
  #cancel: (() => Promise<boolean>) | undefined;

  /** @internal */
  constructor(waitMs: number, atUs: number, cancel: () => Promise<boolean>) {
    this.waitMs = waitMs;
    this.atUs = atUs;
    this.#cancel = cancel;
  }

  /**
   * Gives the tokens back, and resolves with whether that was possible: only while no other call has
   * taken or returned tokens since, on any machine, and the limit has not changed. Otherwise the tokens
   * lapse; so they do if the server does not answer. Only the first call can resolve with true.
   */
  async cancel(): Promise<boolean> {
    const cancel = this.#cancel;
    this.#cancel = undefined;
    return cancel === undefined ? false : cancel();
  }
}
