import { EXIT_INTERRUPTED } from './result.ts';

/** `npm start` hands on the SIGINT that the terminal has sent to this process already. */
const SAME_KEYPRESS_MS = 500;

const SIGNALS = ['SIGINT', 'SIGTERM'] as const;

/** Turns the first interrupt into an abort, to end cleanly; the second ends the process at once. */
export class Interrupt {
  readonly #abort = new AbortController();
  #firstAt = 0;

  constructor() {
    for (const name of SIGNALS) process.on(name, this.#onSignal);
  }

  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  /** Leaves signals to their default action again. */
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
