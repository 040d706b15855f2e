import type { CallOutcome } from '../limiters/adaptation.ts';
import { drop, type Permit } from '../limiters/permit.ts';
import type { Clock } from '../time/clock.ts';

/** The methods that throttling needs of a semaphore. Every `Semaphore` has them. */
export interface PermitSource {
  /** The clock of `holdMs`. */
  readonly clock: Clock;
  /** Takes a permit now. */
  tryAcquire(): Permit | undefined;
  /** Waits for `n` permits. */
  acquire(n: number, options: { readonly signal: AbortSignal }): Promise<Permit>;
  /** Number of free permits. */
  available?(): number;
  /** Number of callers that wait. */
  readonly waiting?: number;
}

/** Receives the outcome of a request for a token or a permit. */
export interface Applicant {
  /** A permit or token has become available. */
  onReady(): void;
  /** The next call cannot start. */
  onFailure(reason: unknown): void;
}

/** The right to run one call: a place, and a permit if there is a semaphore. */
export type Lane = Permit | undefined;

/** How many calls can run at once: a number of places, a semaphore's permits, or both. */
export class Lanes {
  /** Read on every use, because a pool may grow and shrink. */
  readonly #places: () => number;
  readonly #semaphore: PermitSource | undefined;
  readonly #applicant: Applicant;
  #inUse = 0;
  #request: AbortController | undefined;
  /** A permit granted to {@link ask} and not yet taken. */
  #granted: Permit | undefined;

  constructor(places: () => number, semaphore: PermitSource | undefined, applicant: Applicant) {
    this.#places = places;
    this.#semaphore = semaphore;
    this.#applicant = applicant;
  }

  /** Number of free places; Infinity without places. */
  get room(): number {
    return this.#places() - this.#inUse;
  }

  /** Whether {@link take} can succeed, unless another thread is faster. */
  get isFree(): boolean {
    if (this.room <= 0) return false;
    const semaphore = this.#semaphore;
    if (semaphore === undefined || this.#granted !== undefined) return true;
    return !semaphore.waiting && semaphore.available?.() !== 0;
  }

  /** Takes a lane if one is free: `[lane]`, or undefined. */
  take(): readonly [Lane] | undefined {
    if (this.room <= 0) return undefined;
    const permit = this.#semaphore && this.#permit();
    if (this.#semaphore !== undefined && permit === undefined) return undefined;
    this.#inUse++;
    return [permit];
  }

  #permit(): Permit | undefined {
    const granted = this.#granted;
    this.#granted = undefined;
    return granted ?? this.#semaphore?.tryAcquire();
  }

  /** Waits for a permit in the semaphore's queue, if a place is free. */
  ask(): void {
    if (this.#semaphore === undefined || this.#request !== undefined) return;
    if (this.room > 0) this.#wait(this.#semaphore);
  }

  /** Stops waiting for a permit. */
  unask(): void {
    this.#request?.abort();
    this.#request = undefined;
  }

  async #wait(semaphore: PermitSource): Promise<void> {
    const request = new AbortController();
    this.#request = request;
    try {
      this.#granted = await semaphore.acquire(1, { signal: request.signal });
    } catch (reason) {
      if (request.signal.aborted) return;
      this.#request = undefined;
      this.#applicant.onFailure(reason);
      return;
    }
    // If calls came after an abort that was too late, another request waits for them.
    if (!request.signal.aborted) this.#request = undefined;
    this.#applicant.onReady();
    drop(this.#granted);
    this.#granted = undefined;
  }

  /** Releases the lane of a call that did not start. */
  giveUp(lane: Lane): void {
    this.#inUse--;
    drop(lane);
  }

  /**
   * Releases the lane of a call that has finished, with its outcome for a semaphore that adapts.
   *
   * @throws RateLimitError `ERR_PERMIT_EXPIRED` if it took longer than the semaphore's `holdMs`.
   */
  finish(lane: Lane, outcome: CallOutcome): void {
    this.#inUse--;
    lane?.release({ outcome });
  }
}
