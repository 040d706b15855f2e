import type { RateLimitError } from '../../errors.ts';
import { sleepOrWake } from '../../time/agenda.ts';
import { systemClock } from '../../time/system-clock.ts';
import { unreachable } from './server-error.ts';

// Deadlines. A command carries the instant, by the server's clock S, after which the script does
// nothing. Our clock, t, is monotonic. A call that ends at t = u must send at most S(u): then a
// command that runs after u has no effect, however long it was under way. It may send less: then
// the script may answer that the call came too late, and the call is sent again with a better bound.
//
// Assumed: S is never set back, and a second of ours is at least 1 - DRIFT seconds of the server's.
//
// An answer that shows s was written before it is heard at t = h, so s <= S(h), and
//
//     s + (u - h) * (1 - DRIFT) <= S(u)   for every u >= h.
//
// Of all answers, the line is kept that is highest at the latest h. An answer that stalls only gives
// a lower line. (Counting from the instant at which the call was sent gives an upper bound, which is
// wrong by the whole stall.)
//
// If S is set back after all, a call sent before the next answer may take effect late, by as much as
// that. Then an answer below the line at the instant when its call was sent proves it: the line
// starts anew from that answer. It also does with each new connection, which may lead to another
// server. To start anew is always safe.

/** How much slower the server's clock may run: both clocks may be slewed by 0.05 %. */
const DRIFT = 0.001;

/** Pause after a failure during which no calls are sent. */
const PAUSE_US = 50_000;

/**
 * The state of one server, seen through one client: whether it responds, and what its clock shows.
 *
 * After a failure, calls fail immediately during a pause, instead of each waiting for a dead
 * server. Then one call at a time tries again. Any response, even a late one, ends the outage.
 */
export class ServerNode {
  /**
   * The server's clock showed at least this at `#heardUs` of ours. Initially unknown: the first call
   * arrives with a deadline in the past, and the reply contains the server's clock.
   */
  #shownUs = Number.NEGATIVE_INFINITY;
  #heardUs = 0;
  #failure: RateLimitError | undefined;
  #pausedUntilUs = 0;
  readonly #waiting = new Set<() => void>();

  /** Whether the server responded to the last call. */
  get isUp(): boolean {
    return this.#failure === undefined;
  }

  /** When the last response with the server's time was heard. */
  get heardUs(): number {
    return this.#heardUs;
  }

  /** The earliest instant to retry a failed call, by our clock. */
  get retryAtUs(): number {
    return this.#failure === undefined ? systemClock.now() + PAUSE_US : this.#pausedUntilUs;
  }

  /** What the server's clock will at least show at an instant of ours; 0 if unknown. */
  serverUs(ourUs: number): number {
    const passedUs = (ourUs - this.#heardUs) * (1 - DRIFT);
    return Math.max(0, Math.floor(this.#shownUs + passedUs));
  }

  /**
   * Resolves when the server responds again or may be retried.
   *
   * @throws RateLimitError `ERR_UNREACHABLE` at the deadline.
   */
  async untilRetry(
    deadlineUs: number,
    signal: AbortSignal | undefined,
    cause: RateLimitError,
  ): Promise<void> {
    const untilUs = Math.min(this.retryAtUs, deadlineUs);
    await sleepOrWake(systemClock, untilUs, { signal }, (wake) => {
      this.#waiting.add(wake);
      return () => this.#waiting.delete(wake);
    });
    if (systemClock.now() >= deadlineUs) {
      throw unreachable('the server has not answered within timeoutMs', cause);
    }
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

  /** Call when the response to a call sent at `sentUs` is heard. */
  tell(serverUs: number, sentUs: number, heardUs: number): void {
    const wasSetBack = serverUs < this.serverUs(sentUs);
    this.#shownUs = wasSetBack ? serverUs : Math.max(serverUs, this.serverUs(heardUs));
    this.#heardUs = heardUs;
    this.mend();
  }

  /** Call when the server responds: ends the outage. */
  mend(): void {
    if (this.#failure === undefined) return;
    this.#failure = undefined;
    this.#wake();
  }

  /** Call when there is a new connection: ends the pause, so that a call may try at once. */
  reconnect(): void {
    this.#shownUs = Number.NEGATIVE_INFINITY;
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
