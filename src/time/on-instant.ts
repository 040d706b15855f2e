import type { Clock } from './clock.ts';

/**
 * Calls `listener` when the clock reaches `atUs`; never for `Infinity`. The returned function
 * cancels it.
 */
export function onInstant(clock: Clock, atUs: number, listener: () => void): () => void {
  if (atUs === Number.POSITIVE_INFINITY) return () => undefined;
  const end = new AbortController();
  clock.sleep(atUs, { signal: end.signal }).then(listener, () => undefined);
  return () => end.abort(null);
}
