import type { RateLimitError } from '../../errors.ts';
import { systemClock } from '../../time/system-clock.ts';
import { type Link, unreachable } from './link.ts';

/** Rejects as soon as the signal is aborted. A result that arrives later is passed to `undo`. */
export function orAborted<T>(
  work: Promise<T>,
  signal: AbortSignal | undefined,
  undo: (late: T) => Promise<unknown>,
): Promise<T> {
  if (signal === undefined) return work;
  return new Promise((resolve, reject) => {
    let isOver = false;
    const onAbort = () => {
      isOver = true;
      reject(signal.reason);
    };
    if (signal.aborted) onAbort();
    signal.addEventListener('abort', onAbort, { once: true });
    work.then(
      (value) => {
        signal.removeEventListener('abort', onAbort);
        if (isOver) undo(value).catch(() => undefined);
        else resolve(value);
      },
      (error: unknown) => {
        signal.removeEventListener('abort', onAbort);
        reject(error);
      },
    );
  });
}

/**
 * Resolves when the server answers again or may be asked again.
 *
 * @throws RateLimitError `ERR_UNREACHABLE` at the deadline.
 */
export async function untilRetry(
  link: Link,
  deadlineUs: number,
  signal: AbortSignal | undefined,
  cause: RateLimitError,
): Promise<void> {
  const end = new AbortController();
  const onAbort = () => end.abort(signal?.reason);
  if (signal?.aborted) onAbort();
  signal?.addEventListener('abort', onAbort, { once: true });
  let isUp = link.isUp;
  const callOff = link.onceUp(() => {
    isUp = true;
    end.abort();
  });
  try {
    if (!isUp) {
      await systemClock.sleep(Math.min(link.retryAtUs, deadlineUs), { signal: end.signal });
    }
  } catch (reason) {
    if (!isUp) throw reason;
  } finally {
    callOff();
    signal?.removeEventListener('abort', onAbort);
  }
  if (systemClock.now() >= deadlineUs) {
    throw unreachable('the server has not answered within timeoutMs', cause);
  }
}
