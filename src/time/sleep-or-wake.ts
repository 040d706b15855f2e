import type { Clock, SleepOptions } from './clock.ts';
import { onAbort } from './on-abort.ts';

/** Abort reason: `wake` was called. */
const WOKEN = Symbol('woken');

/**
 * Sleeps until the clock reaches `untilUs` or the `wake` passed to `subscribe` is called. The
 * function that `subscribe` returns is called when the sleep is over.
 */
export async function sleepOrWake(
  clock: Clock,
  untilUs: number,
  { strict = false, signal }: SleepOptions,
  subscribe: (wake: () => void) => () => void,
): Promise<void> {
  const end = new AbortController();
  const unlink = onAbort(signal, (reason) => end.abort(reason));
  const unsubscribe = subscribe(() => end.abort(WOKEN));
  try {
    await clock.sleep(untilUs, { strict, signal: end.signal });
  } catch (reason) {
    if (reason !== WOKEN) throw reason;
  } finally {
    unsubscribe();
    unlink();
  }
}
