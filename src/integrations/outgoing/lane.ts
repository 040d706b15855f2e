import { onAbort } from '../../time/on-abort.ts';

/** Serves one caller at a time, in order of arrival. */
export class Lane {
  readonly #line = new Set<() => void>();
  #isTaken = false;

  /** Resolves once all earlier callers have left. An abort removes the caller from the line. */
  async enter(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    if (!this.#isTaken) {
      this.#isTaken = true;
      return;
    }
    await new Promise<void>((resolve, reject) => {
      const unlink = onAbort(signal, (reason) => {
        this.#line.delete(enter);
        reject(reason);
      });
      const enter = () => {
        unlink();
        resolve();
      };
      this.#line.add(enter);
    });
  }

  /** Admits the next caller; false if there is none. */
  leave(): boolean {
    const [next] = this.#line;
    this.#isTaken = next !== undefined;
    if (next === undefined) return false;
    this.#line.delete(next);
    next();
    return true;
  }
}
