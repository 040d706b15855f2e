import { once } from 'node:events';
import { InterruptedError } from './interrupted-error.ts';

/** A `setup` that never ends must not block the run for ever. */
const READY_MS = 60_000;

/** A starting thread. */
interface Starting {
  /** Resolves when the thread is ready or has crashed. */
  readonly ready: Promise<void>;
  readonly crash: string | undefined;
  /** Why it could not get ready, as a message for the user. */
  readonly refusal: string | undefined;
}

/** Waits until all threads are ready. Throws if one fails, or if the run is stopped first. */
export async function untilReady(threads: readonly Starting[], stop: AbortSignal): Promise<void> {
  const over = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  const tooLate = new Promise<boolean>((resolve) => {
    timer = setTimeout(resolve, READY_MS, true);
  });
  const ready = Promise.all(threads.map((thread) => thread.ready)).then(() => false);
  const stopped = once(stop, 'abort', { signal: over.signal }).then(
    () => false,
    () => false, // no longer needed
  );
  const isTooLate = !stop.aborted && (await Promise.race([ready, stopped, tooLate]));
  clearTimeout(timer);
  over.abort();
  if (stop.aborted) throw new InterruptedError('stopped before the first request');
  if (isTooLate) throw new Error(`a load thread was not ready within ${READY_MS / 1_000} s`);
  const crashed = threads.find((thread) => thread.crash !== undefined);
  if (crashed === undefined) return;
  throw new Error(crashed.refusal ?? `a load thread cannot start: ${crashed.crash}`);
}
