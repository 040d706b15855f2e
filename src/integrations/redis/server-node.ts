import type { RateLimitError } from '../../errors.ts';
import { systemClock } from '../../time/system-clock.ts';
import { unreachable } from './server-error.ts';

/** Pause after a failure during which no calls are sent. */
const PAUSE_US = 50_000;

/**
 * The state of one server, seen through one client: whether it responds, and how far its clock is
 * ahead.
 *
 * After a failure, calls fail immediately during a pause, instead of each waiting for a dead
 * server. Then one call at a time tries again. Any response, even a late one, ends the outage.
 */
export class ServerNode {
  /**
   * Upper bound on how far the server's clock is ahead of ours. Initially unknown: the first call
   * arrives with a deadline in the past, and the reply contains the server's clock.
   */
  #aheadUs = Number.NEGATIVE_INFINITY;
  #failure: RateLimitError | undefined;
  #pausedUntilUs = 0;
  readonly #waiting = new Set<() => void>();

  /** Whether the server responded to the last call. */
  get isUp(): boolean {
    return this.#failure === undefined;
  }

  /** The earliest instant to retry a failed call, by our clock. */
  get retryAtUs(): number {
    return this.#failure === undefined ? systemClock.now() + PAUSE_US : this.#pausedUntilUs;
  }

  /** Converts an instant of our clock to the server's; a past instant if unknown. */
  serverUs(ourUs: number): number {
    return Math.max(0, Math.floor(ourUs + this.#aheadUs));
  }

  /** Calls `wake` once when the server responds again. Returns a function that cancels this. */
  onceUp(wake: () => void): () => void {
    this.#waiting.add(wake);
    return () => this.#waiting.delete(wake);
  }

  /**
   * After a pause, lets one call at a time through until the server responds.
   *
   * @throws RateLimitError `ERR_UNREACHABLE` during a pause.
   */
  async admit(nowUs: number, untilUs: number): Promise<void> {
    if (this.#failure === undefined) return;
    if (nowUs < this.#pausedUntilUs) {
      // Yield, so that a caller that retries in a loop does not starve the reading of the response.
      await new Promise((resolve) => setImmediate(resolve));
      throw unreachable('the server is unreachable, and calls to it are paused', this.#failure);
    }
    this.#pausedUntilUs = untilUs;
  }

  /** Call when the server has responded to a call sent at `sentUs`. */
  tell(serverUs: number, sentUs: number): void {
    this.#aheadUs = serverUs - sentUs;
    this.mend();
  }

  /** Call when the server responds: ends the outage. */
  mend(): void {
    if (this.#failure === undefined) return;
    this.#failure = undefined;
    this.#wake();
  }

  /** Ends the pause, so that a call may try at once. */
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

  /**
   * Call when the server has not responded. Calls sent before the first failure do not extend the
   * pause.
   */
  fail(failure: RateLimitError, wasUp: boolean): RateLimitError {
    if (this.#failure === undefined || !wasUp) {
      this.#pausedUntilUs = systemClock.now() + PAUSE_US;
    }
    this.#failure = failure;
    return failure;
  }
}
