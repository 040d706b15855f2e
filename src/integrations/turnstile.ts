/** Lets so many in at a time, and the others when one of those leaves, in the order in which they came. */
export class Turnstile {
  /** Asked for anew each time, since it can change. */
  readonly #places: () => number;
  readonly #line = new Set<() => void>();
  #inside = 0;

  constructor(places: () => number) {
    this.#places = places;
  }

  get isOpen(): boolean {
    return this.#inside < this.#places();
  }

  /** Takes a place that {@link isOpen} has shown to be free, at once. */
  pass(): void {
    this.#inside++;
  }

  /** Calls `enter` when it has a place; at once, if one is free. */
  join(enter: () => void): void {
    this.#line.add(enter);
    this.#advance();
  }

  /** Takes `enter` out of the line; false if it is not in it any more. */
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

/** One who waits for a place, and then for a token. It costs little in line, since many may stand there. */
export class Turn {
  /** Resolves when it has its place, with the signal that ends its wait for a token. */
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

  /** Ends the wait: that for the place rejects with the reason, or the signal is aborted. */
  leave(reason: unknown): void {
    if (this.#turnstile.quit(this.#enter)) this.#reject(reason);
    else this.#token?.abort(reason);
  }
}
