import type { RateLimitError } from '../../errors.ts';
import { sleepOrWake } from '../../time/agenda.ts';
import { onAbort } from '../../time/on-abort.ts';
import { systemClock } from '../../time/system-clock.ts';
import { unreachable } from './server-error.ts';
import type { ServerNode } from './server-node.ts';

/** Rejects as soon as the signal is aborted. A later result is passed to `undo`. */
export function orAborted<T>(
  work: Promise<T>,
  signal: AbortSignal | undefined,
  undo: (late: T) => Promise<unknown>,
): Promise<T> {
  if (signal === undefined) return work;
  return new Promise((resolve, reject) => {
    let isOver = false;
    const unlink = onAbort(signal, (reason) => {
      isOver = true;
      reject(reason);
    });
    work.then(
      (value) => {
        unlink();
        if (isOver) undo(value).catch(() => undefined);
        else resolve(value);
      },
      (error: unknown) => {
        unlink();
        reject(error);
      },
    );
  });
}

/**
 * Resolves when the server responds again or may be retried.
 *
 * @throws RateLimitError `ERR_UNREACHABLE` at the deadline.
 */
export async function untilRetry(
  node: ServerNode,
  deadlineUs: number,
  signal: AbortSignal | undefined,
  cause: RateLimitError,
): Promise<void> {
  const untilUs = Math.min(node.retryAtUs, deadlineUs);
  await sleepOrWake(systemClock, untilUs, { signal }, (wake) => node.onceUp(wake));
  if (systemClock.now() >= deadlineUs) {
    throw unreachable('the server has not answered within timeoutMs', cause);
  }
}
