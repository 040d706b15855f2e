import type { Clock } from '../time/clock.ts';
import { onAbort } from '../time/on-abort.ts';
import { onInstant } from '../time/on-instant.ts';
import { timedOut, type Wait } from './waiting.ts';

/** Serves one caller at a time, in order of arrival. */
export class Lane {
  readonly #line = new Set<() => void>();
  #isTaken = false;

  /** Runs an action once all earlier callers have left. An abort ends the wait for that. */
  async serve<T>(signal: AbortSignal, action: () => Promise<T>): Promise<T> {
    await this.#enter(signal);
    try {
      return await action();
    } finally {
      this.#leave();
    }
  }

  /** Whether no caller is served or waits. */
  get isEmpty(): boolean {
    return !this.#isTaken;
  }

  async #enter(signal: AbortSignal): Promise<void> {
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

  #leave(): void {
    const [next] = this.#line;
    this.#isTaken = next !== undefined;
    if (next === undefined) return;
    this.#line.delete(next);
    next();
  }
}

/** Runs an action whose signal aborts with the caller's signal, and at the deadline of its wait. */
export async function within<T>(
  clock: Clock,
  n: number,
  { timeoutMs, signal }: Pick<Wait, 'timeoutMs' | 'signal'>,
  action: (signal: AbortSignal, deadlineUs: number) => Promise<T>,
): Promise<T> {
  const leave = new AbortController();
  const deadlineUs = clock.now() + timeoutMs * 1000;
  const unlink = onAbort(signal, (reason) => leave.abort(reason));
  const cancel = onInstant(clock, deadlineUs, () => leave.abort(timedOut(n, timeoutMs)));
  try {
    return await action(leave.signal, deadlineUs);
  } finally {
    unlink();
    cancel();
  }
}
