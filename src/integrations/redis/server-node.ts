import type { RateLimitError } from '../../errors.ts';
import { systemClock } from '../../time/system-clock.ts';
import { unreachable } from './server-error.ts';

/** No call is sent for so long after a failure. */
const PAUSE_US = 50_000;

/**
 * One server, as seen through one client: whether it answers, and how far its clock is ahead.
 *
 * After a failure, calls fail at once for a pause instead of each waiting for a dead server. Then
 * one call at a time tries again. Any answer, however late, ends it.
 */
export class ServerNode {
  /**
   * Upper bound on how far the server's clock is ahead of ours. Initially unknown: the first call
   * then arrives with a deadline in the past, and the server's reply contains its clock.
   */
  #aheadUs = Number.NEGATIVE_INFINITY;
  #failure: RateLimitError | undefined;
  #pausedUntilUs = 0;
  readonly #waiting = new Set<() => void>();

  /** Whether the server answered the last call. */
  get isUp(): boolean {
    return this.#failure === undefined;
  }

  /** When a call without an answer is worth repeating, by our clock. */
  get retryAtUs(): number {
    return this.#failure === undefined ? systemClock.now() + PAUSE_US : this.#pausedUntilUs;
  }

  /** An instant of our clock by the server's, or a past one if that is unknown. */
  serverUs(ourUs: number): number {
    return Math.max(0, Math.floor(ourUs + this.#aheadUs));
  }

  /** Calls `wake` once, when the server answers again. Returns a function that cancels it. */
  onceUp(wake: () => void): () => void {
    this.#waiting.add(wake);
    return () => this.#waiting.delete(wake);
  }

  /**
   * After a pause, lets through one call at a time until the server answers.
   *
   * @throws RateLimitError `ERR_UNREACHABLE` during a pause.
   */
  async admit(nowUs: number, untilUs: number): Promise<void> {
    if (this.#failure === undefined) return;
    if (nowUs < this.#pausedUntilUs) {
      // Yields, so that a caller that retries in a loop does not starve the reading of the answer.
      await new Promise((resolve) => setImmediate(resolve));
      throw unreachable('the server is unreachable, and calls to it are paused', this.#failure);
    }
    this.#pausedUntilUs = untilUs;
  }

  /** The server answered a call that was sent at `sentUs`. */
  tell(serverUs: number, sentUs: number): void {
    this.#aheadUs = serverUs - sentUs;
    this.mend();
  }

  /** The server answers. */
  mend(): void {
    if (this.#failure === undefined) return;
    this.#failure = undefined;
    this.#wake();
  }

  /** Ends the pause: a call may try at once. */
  retryNow(): void {
    if (this.#failure === undefined) return;
    this.#pausedUntilUs = 0;
    this.#wake();
  }

  #wake(): void {
    const waiting = [...this.#waiting];
    this.#waiting.clear();
    for (const wake of waiting) wake();
  }

  /** The server did not answer. Calls sent before the first failure do not lengthen the pause. */
  fail(failure: RateLimitError, wasUp: boolean): RateLimitError {
    if (this.#failure === undefined || !wasUp) {
      this.#pausedUntilUs = systemClock.now() + PAUSE_US;
    }
    this.#failure = failure;
    return failure;
  }
}
