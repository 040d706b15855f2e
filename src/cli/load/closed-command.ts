import { decodeFromCompressedBase64 } from 'hdr-histogram-js';
import { closedResult } from '../../load/api/closed-result.ts';
import type { DriveResult } from '../../load/api/drive-result.ts';
import { type ClosedHooks, runClosed } from '../../load/closed/run-closed.ts';
import { InterruptedError } from '../../load/interrupted-error.ts';
import { aboutThisRun } from '../about.ts';
import { formatSpan, paintFor } from '../format.ts';
import { columnsFor } from '../layout.ts';
import { writeFiles, writeOutput } from '../output-files.ts';
import { summaryStream } from '../output-path.ts';
import { printError, safeText } from '../safe-text.ts';
import { writeClosedJson } from './closed-json.ts';
import type { ClosedPlan } from './closed-options.ts';
import { writeClosedReport } from './closed-report.ts';
import { renderClosedSummary } from './closed-summary.ts';
import { EXIT_FAILED, EXIT_INTERRUPTED, verdictCode } from './exit-code.ts';
import { hgrmText } from './hgrm.ts';
import { Interrupt } from './interrupt.ts';
import { type Live, liveOn } from './live.ts';
import type { CommandOptions } from './load-options.ts';
import { counted } from './threads-text.ts';

const NS_PER_MS = 1e6;

/** Calls a module as fast as its threads can, prints and writes the result; returns the exit code. */
export async function loadAtMax(
  { options, gates }: ClosedPlan,
  { json, hgrm, report }: Pick<CommandOptions, 'json' | 'hgrm' | 'report'>,
  version: string,
): Promise<number> {
  const { stderr } = process;
  const { task, threads, durationMs } = options;
  const interrupt = new Interrupt();
  let live: Live | undefined;
  try {
    const by = counted(threads, 'thread', 'threads');
    stderr.write(
      `${safeText(task.url)} at the maximum rate for ${formatSpan(durationMs)}, by ${by}; Ctrl-C ends it\n`,
    );
    live = liveOn(stderr, durationMs, 'calls');
    const hooks = { stop: interrupt.signal, onProgress: progressOn(live) };
    const result = closedResult(await runClosed(options, hooks), options, gates);
    live.stop();
    const code = codeOf(result);
    const summary = summaryStream(json);
    const lines = renderClosedSummary(result, paintFor(summary), columnsFor(summary));
    summary.write(`${lines.join('\n')}\n`);
    const about = aboutThisRun(version);
    const areWritten = writeFiles([
      { path: json, write: (path) => writeClosedJson(path, result, options, about, code) },
      { path: hgrm, write: (path) => writeOutput(path, hgrmOf(result)) },
      { path: report, write: (path) => writeClosedReport(path, result, options, about) },
    ]);
    return code || (areWritten ? 0 : EXIT_FAILED);
  } catch (error) {
    live?.stop();
    printError(error);
    return error instanceof InterruptedError ? EXIT_INTERRUPTED : EXIT_FAILED;
  } finally {
    interrupt.dispose();
  }
}

/** Shows the calls made since the last look as the rate. */
function progressOn(live: Live): NonNullable<ClosedHooks['onProgress']> {
  let beforeMs = 0;
  let before = 0;
  return ({ elapsedMs, counters: { sent, succeeded, failed } }) => {
    const ms = elapsedMs - beforeMs;
    live.update({
      elapsedMs,
      rateNow: ms > 0 ? Math.max(0, ((sent - before) * 1_000) / ms) : undefined,
      rateWanted: undefined,
      latency: undefined,
      admitted: sent,
      failed,
      waiting: sent - succeeded - failed,
      finishing: false,
    });
    [beforeMs, before] = [elapsedMs, sent];
  };
}

function codeOf({ calls, threads, gates }: DriveResult): number {
  return verdictCode({
    succeeded: calls.succeeded,
    hasCrash: threads.some(({ crash }) => crash !== null),
    gates,
  });
}

function hgrmOf({ times }: DriveResult): string {
  return hgrmText(decodeFromCompressedBase64(times.response.hdrHistogram), NS_PER_MS);
}
