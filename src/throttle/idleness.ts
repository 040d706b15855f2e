/** Lets callers wait until there is nothing to do. */
export class Idleness {
  readonly #isIdle: () => boolean;
  #callers: (() => void)[] = [];

  constructor(isIdle: () => boolean) {
    this.#isIdle = isIdle;
  }

  async reached(): Promise<void> {
    if (!this.#isIdle()) await new Promise<void>((resolve) => this.#callers.push(resolve));
  }

  /** Resolves the callers if nothing is left to do. Call this when work has ended. */
  look(): void {
    if (this.#callers.length === 0 || !this.#isIdle()) return;
    for (const resolve of this.#callers.splice(0)) resolve();
  }
}
