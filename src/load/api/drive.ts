import { onAbort } from '../../time/on-abort.ts';
import type { DriveResult } from '../judge/drive-result.ts';
import type { DriveOptions, DriveProgress } from '../plan/drive-options.ts';
import { runLoad } from '../threads/run.ts';
import { InterruptedError } from '../threads/thread-handle.ts';
import { checkDriveOptions } from './check-options.ts';

/**
 * Calls your module, or sends HTTP requests, from several threads at one exact rate. With
 * `rate: Infinity`, each thread calls your module as fast as it can: a multi-threaded benchmark.
 *
 * Failed calls and ended threads are part of the result, not errors.
 *
 * @throws TypeError, RangeError if an option is unknown or out of range.
 * @throws Error if the module can't be loaded or its default export is not a function, if its
 *   `setup` fails, or if threads can't start. No call has been made then.
 * @throws the abort reason if `signal` is aborted before a call counts, even if a warm-up has made
 *   calls.
 * @throws what `onProgress` throws: the run is then stopped.
 *
 * @example
 * ```ts
 * import { drive } from 'zerotime/load';
 *
 * const task = 'data:text/javascript,export default () => Math.sqrt(2)';
 * const result = await drive({ task, rate: 100, durationMs: 200 });
 * result.calls.failed; // -> 0
 * result.guarantee?.held; // -> true
 * ```
 */
export async function drive<Data = unknown>(options: DriveOptions<Data>): Promise<DriveResult> {
  const checked = checkDriveOptions(options);
  const { signal, onProgress } = options;
  signal?.throwIfAborted();
  const stop = new AbortController();
  const abort = () => stop.abort();
  const forget = onAbort(signal, abort);
  let thrown: { readonly error: unknown } | undefined;
  const report = (progress: DriveProgress) => {
    if (thrown !== undefined) return;
    try {
      onProgress?.(progress);
    } catch (error) {
      thrown = { error };
      abort();
    }
  };
  try {
    const result = await runLoad(checked, {
      stop: stop.signal,
      onProgress: ({ elapsedMs, calls, failed, waiting, finishing }) =>
        report({ elapsedMs, calls, failed, waiting, finishing }),
    });
    if (thrown !== undefined) throw thrown.error;
    return result;
  } catch (error) {
    if (thrown !== undefined) throw thrown.error;
    if (error instanceof InterruptedError && signal?.aborted) throw signal.reason;
    throw error;
  } finally {
    forget();
  }
}
