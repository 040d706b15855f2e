/** A FIFO semaphore whose number of places may change. */
export class Turnstile {
  /** Read on every use, because it can change. */
  readonly #places: () => number;
  readonly #line = new Set<() => void>();
  #inside = 0;

  constructor(places: () => number) {
    this.#places = places;
  }

  get isOpen(): boolean {
    return this.#inside < this.#places();
  }

  /** Takes a place. The caller has just checked {@link isOpen}. */
  pass(): void {
    this.#inside++;
  }

  /** Calls `enter` when a place is free, possibly before returning. */
  join(enter: () => void): void {
    this.#line.add(enter);
    this.#advance();
  }

  /** Removes `enter` from the queue; false if it has already left it. */
  quit(enter: () => void): boolean {
    return this.#line.delete(enter);
  }

  leave(): void {
    this.#inside--;
    this.#advance();
  }

  #advance(): void {
    for (const enter of this.#line) {
      if (!this.isOpen) return;
      this.#inside++;
      this.#line.delete(enter);
      enter();
    }
  }
}

/** A waiter for a place and then for a token. Kept small, because many may be queued. */
export class Turn {
  /** Resolves when the place is taken, with the signal that aborts the wait for a token. */
  readonly place: Promise<AbortSignal>;
  readonly #turnstile: Turnstile;
  readonly #enter: () => void;
  #reject: (reason: unknown) => void = () => undefined;
  #token: AbortController | undefined;

  constructor(turnstile: Turnstile) {
    let resolve: (signal: AbortSignal) => void;
    this.place = new Promise((...settle) => {
      [resolve, this.#reject] = settle;
    });
    this.#enter = () => {
      this.#token = new AbortController();
      resolve(this.#token.signal);
    };
    this.#turnstile = turnstile;
    turnstile.join(this.#enter);
  }

  /** Ends the wait: rejects `place`, or aborts its signal if the place is already taken. */
  leave(reason: unknown): void {
    if (this.#turnstile.quit(this.#enter)) this.#reject(reason);
    else this.#token?.abort(reason);
  }
}
