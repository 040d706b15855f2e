import type { Permit } from '../limiters/permit.ts';
import type { Clock } from '../time/clock.ts';

/** What throttling needs of a semaphore. Every `Semaphore` has it. */
export interface PermitSource {
  /** The clock of `holdMs`. */
  readonly clock: Clock;
  /** Takes a permit now. */
  tryAcquire(): Permit | undefined;
  /** Waits for one. */
  acquire(n: number, options: { readonly signal: AbortSignal }): Promise<Permit>;
}

/** The right to run one call: a place, and a permit if there is a semaphore. */
export type Slot = Permit | undefined;

/** Returns a permit that was not used; it may have come back by itself. */
function drop(permit: Permit): void {
  try {
    permit.release();
  } catch {}
}

/** How many calls may run at once: so many places, so many permits of a semaphore, or both. */
export class Slots {
  /** Read on every use, because a pool may grow and shrink. */
  readonly #places: () => number;
  readonly #semaphore: PermitSource | undefined;
  /** Called when {@link take} may succeed again. */
  readonly #onPermit: () => void;
  readonly #onFailure: (reason: unknown) => void;
  #inUse = 0;
  #request: AbortController | undefined;
  /** Granted to {@link ask}, and not yet taken. */
  #granted: Permit | undefined;

  constructor(
    places: () => number,
    semaphore: PermitSource | undefined,
    onPermit: () => void,
    onFailure: (reason: unknown) => void,
  ) {
    this.#places = places;
    this.#semaphore = semaphore;
    this.#onPermit = onPermit;
    this.#onFailure = onFailure;
  }

  /** Takes a slot if one is free: `[slot]`, or undefined. */
  take(): readonly [Slot] | undefined {
    if (this.#inUse >= this.#places()) return undefined;
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

  /** Waits for a permit in the semaphore's queue, unless a place is missing. */
  ask(): void {
    if (this.#semaphore === undefined || this.#request !== undefined) return;
    if (this.#inUse < this.#places()) this.#wait(this.#semaphore);
  }

  /** Nobody needs a permit any more. */
  unask(): void {
    this.#request?.abort();
    this.#request = undefined;
  }

  async #wait(semaphore: PermitSource): Promise<void> {
    const request = new AbortController();
    this.#request = request;
    const isWanted = () => this.#request === request;
    try {
      this.#granted = await semaphore.acquire(1, { signal: request.signal });
    } catch (reason) {
      if (!isWanted()) return;
      this.#request = undefined;
      this.#onFailure(reason);
      return;
    }
    if (isWanted()) {
      this.#request = undefined;
      this.#onPermit();
    }
    if (this.#granted === undefined) return;
    drop(this.#granted);
    this.#granted = undefined;
  }

  /** Renews a permit with `holdMs` before its call starts; undefined if it went to others. */
  renew(slot: Slot): readonly [Slot] | undefined {
    if (slot === undefined || slot.dueUs === Number.POSITIVE_INFINITY) return [slot];
    this.giveUp(slot);
    return this.take();
  }

  /** Gives back the slot of a call that did not start. */
  giveUp(slot: Slot): void {
    this.#inUse--;
    if (slot !== undefined) drop(slot);
  }

  /**
   * Gives back the slot of a call that has finished.
   *
   * @throws RateLimitError `ERR_PERMIT_EXPIRED` if it took longer than the semaphore's `holdMs`.
   */
  finish(slot: Slot): void {
    this.#inUse--;
    slot?.release();
  }
}
