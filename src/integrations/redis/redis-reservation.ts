/**
 * Tokens reserved on a server for a later instant. Act at that instant or later, or cancel. A
 * change of the limit does not move the instant.
 */
export class RedisReservation {
  /** Milliseconds to wait before acting, counted from the server's answer; 0 means now. */
  readonly waitMs: number;
  /** The instant in microseconds of `systemClock`. */
  readonly atUs: number;
  #cancel: (() => Promise<boolean>) | undefined;

  /** @internal */
  constructor(waitMs: number, atUs: number, cancel: () => Promise<boolean>) {
    this.waitMs = waitMs;
    this.atUs = atUs;
    this.#cancel = cancel;
  }

  /**
   * Returns the tokens, and resolves with whether that succeeded. It succeeds only while no other
   * call on any machine has taken or returned tokens since, and the limit has not changed.
   * Otherwise, or if the server does not answer, the tokens are lost. Only the first call can
   * resolve with true.
   */
  async cancel(): Promise<boolean> {
    const cancel = this.#cancel;
    this.#cancel = undefined;
    return cancel === undefined ? false : cancel();
  }
}
