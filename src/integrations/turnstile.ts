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

  /** Resolves when a place is taken; an abort ends the wait with the signal's reason. */
  enter(signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const step = () => {
        signal.removeEventListener('abort', quit);
        resolve();
      };
      const quit = () => {
        this.#line.delete(step);
        reject(signal.reason);
      };
      signal.addEventListener('abort', quit, { once: true });
      this.#line.add(step);
      this.#advance();
    });
  }

  leave(): void {
    this.#inside--;
    this.#advance();
  }

  #advance(): void {
    for (const step of this.#line) {
      if (!this.isOpen) return;
      this.#inside++;
      this.#line.delete(step);
      step();
    }
  }
}
