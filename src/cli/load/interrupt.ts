import { EXIT_INTERRUPTED } from './exit-code.ts';

/** Under `npm start`, one Ctrl-C arrives twice: from the terminal and from npm. */
const SAME_KEYPRESS_MS = 500;

const SIGNALS = ['SIGINT', 'SIGTERM'] as const;

/** Turns the first interrupt into an abort for a clean end. The second one exits immediately. */
export class Interrupt {
  readonly #abort = new AbortController();
  #firstAt = 0;

  constructor() {
    for (const name of SIGNALS) process.on(name, this.#onSignal);
  }

  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  /** Restores the default handling of the signals. */
  dispose(): void {
    for (const name of SIGNALS) process.off(name, this.#onSignal);
  }

  readonly #onSignal = (): void => {
    if (!this.signal.aborted) {
      this.#firstAt = performance.now();
      this.#abort.abort();
    } else if (performance.now() - this.#firstAt > SAME_KEYPRESS_MS) {
      process.exit(EXIT_INTERRUPTED);
    }
  };
}
