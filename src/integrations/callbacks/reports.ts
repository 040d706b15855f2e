import process from 'node:process';
import { isPromise } from '../../limiters/limiter.ts';
import { shown } from '../../options.ts';

/**
 * Calls of functions with which users hear what happens. They may be async, and nothing waits for
 * them. If one fails, the work goes on as if it had not.
 */
export class Reports {
  readonly #title: string;
  #hasWarned = false;

  /** @param title of the warning of errors that nobody handles */
  constructor(title: string) {
    this.#title = title;
  }

  /** Calls a function. `failed` gets its error. */
  tell(call: () => unknown, failed = (error: unknown) => this.warn(error)): void {
    try {
      const result = call();
      if (isPromise(result)) result.then(undefined, failed);
    } catch (error) {
      failed(error);
    }
  }

  /** Emits a warning for the first error only: the same one may recur with every call. */
  warn(error: unknown): void {
    if (this.#hasWarned) return;
    this.#hasWarned = true;
    // Thrown values may not be convertible to a string.
    const what = error instanceof Error ? error : shown(error);
    process.emitWarning(`${this.#title}: ${what}`, 'ZerotimeWarning');
  }
}
