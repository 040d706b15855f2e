import { onAbort } from '../../time/on-abort.ts';
import { runClosed } from '../closed/run-closed.ts';
import type { Progress } from '../drive.ts';
import { InterruptedError } from '../interrupted-error.ts';
import { runLoad } from '../run.ts';
import { checkDriveOptions, type DrivePlan } from './check-options.ts';
import { closedResult } from './closed-result.ts';
import type { DriveOptions } from './drive-options.ts';
import type { DriveResult } from './drive-result.ts';
import { openResult } from './open-result.ts';
import type { DriveProgress } from './progress.ts';

/**
 * Calls your module, or sends HTTP requests, from several threads at one exact rate. With
 * `rate: Infinity`, each thread calls your module as fast as it can: a multi-threaded benchmark.
 *
 * Failed calls and ended threads are part of the result, not errors.
 *
 * @throws TypeError, RangeError if an option is unknown or out of range.
 * @throws Error if the module can't be loaded or its default export is not a function, if its
 *   `setup` fails, or if threads can't start. No call has been made then.
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
  const plan = checkDriveOptions(options);
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
    const result = await run(plan, stop.signal, report);
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

async function run(
  plan: DrivePlan,
  stop: AbortSignal,
  report: (progress: DriveProgress) => void,
): Promise<DriveResult> {
  if (plan.loop === 'open') {
    const onProgress = ({ elapsedMs, admitted, failed, waiting, finishing }: Progress) => {
      report({ elapsedMs, calls: admitted, failed, waiting, finishing });
    };
    const result = await runLoad(plan.options, { stop, onProgress });
    if (stop.aborted && result.elapsedMs === 0) {
      throw new InterruptedError('stopped during the warm-up');
    }
    return openResult(result);
  }
  const { options, gates } = plan;
  const result = await runClosed(options, {
    stop,
    onProgress: ({ elapsedMs, counters: { sent, succeeded, failed } }) =>
      report({
        elapsedMs,
        calls: sent,
        failed,
        waiting: sent - succeeded - failed,
        finishing: false,
      }),
  });
  return closedResult(result, options, gates);
}
