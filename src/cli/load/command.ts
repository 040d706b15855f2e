import type { Command } from 'commander';
import type { LoadOptions } from '../../load/options.ts';
import { InterruptedError, runLoad } from '../../load/run.ts';
import { aboutThisRun } from '../about.ts';
import { paintFor } from '../format.ts';
import { columnsFor } from '../layout.ts';
import { writeFiles, writeOutput } from '../output-files.ts';
import { checkOutputs, summaryStream } from '../output-path.ts';
import { printError, SAFE_OUTPUT, safeText } from '../safe-text.ts';
import { loadAtMax } from './closed-command.ts';
import { closedPlan } from './closed-options.ts';
import { commandWithOptions } from './command-options.ts';
import { EXIT_FAILED, EXIT_INTERRUPTED, exitCode } from './exit-code.ts';
import { headline } from './headline.ts';
import { HELP } from './help.ts';
import { hgrmText } from './hgrm.ts';
import { runInput } from './input.ts';
import { inputFilesOf } from './input-files.ts';
import { Interrupt } from './interrupt.ts';
import { writeJsonReport } from './json-report.ts';
import { type Live, liveOn } from './live.ts';
import { type CommandOptions, loadOptions } from './load-options.ts';
import { nounOf } from './noun.ts';
import { MAX } from './options.ts';
import { RATE_KEYS, RateKeys } from './rate-keys.ts';
import { writeReport } from './report.ts';
import { renderSummary } from './summary.ts';
import { parseTarget } from './task-options.ts';

/** The subcommand `load`. */
export function loadCommand(version: string): Command {
  const load = commandWithOptions();
  const inputFiles = inputFilesOf(load);
  return load
    .configureOutput(SAFE_OUTPUT)
    .description(
      'Generate load for an HTTP server or a module at one exact rate, from many threads.',
    )
    .argument(
      '[target]',
      'URL to request, or module to call (default: an embedded server)',
      parseTarget,
    )
    .addHelpText('after', HELP)
    .showHelpAfterError('(zerotime load --help shows all options)')
    .action(async (url: string | undefined, given: CommandOptions, command: Command) => {
      const { json, hgrm, report } = given;
      checkOutputs(command, { json, hgrm, report }, inputFiles(url));
      if (given.rate === MAX) {
        process.exitCode = await loadAtMax(closedPlan(url, given, command), given, version);
        return;
      }
      const input = runInput(given, command);
      const read = input instanceof Promise ? await input : input;
      process.exitCode = await run(loadOptions(url, given, read, command), given, version);
    });
}

/** Runs the load, prints and writes its result, and returns the exit code. */
async function run(
  options: LoadOptions,
  { json, hgrm, report }: Pick<CommandOptions, 'json' | 'hgrm' | 'report'>,
  version: string,
): Promise<number> {
  const { stdin, stderr } = process;
  const summary = summaryStream(json);
  let live: Live | undefined;
  let keys: RateKeys | undefined;
  const interrupt = new Interrupt();
  try {
    const result = await runLoad(options, {
      stop: interrupt.signal,
      onStart: (url) => {
        stderr.write(`${safeText(headline(url, options))}\n`);
        live = liveOn(stderr, options.durationMs, nounOf(options));
        keys = RateKeys.on(stdin);
      },
      onSteerable: (steer) => {
        if (keys === undefined) return;
        live?.note(RATE_KEYS);
        keys.enable(steer);
      },
      onProgress: (progress) => live?.update(progress),
    });
    live?.stop();
    const lines = renderSummary(result, paintFor(summary), columnsFor(summary));
    summary.write(`${lines.join('\n')}\n`);
    const about = aboutThisRun(version);
    const { latency } = result.tally.histograms;
    const areWritten = writeFiles([
      { path: json, write: (path) => writeJsonReport(path, result, about) },
      { path: hgrm, write: (path) => writeOutput(path, hgrmText(latency)) },
      { path: report, write: (path) => writeReport(path, result, about) },
    ]);
    return exitCode(result) || (areWritten ? 0 : EXIT_FAILED);
  } catch (error) {
    live?.stop();
    printError(error);
    return error instanceof InterruptedError ? EXIT_INTERRUPTED : EXIT_FAILED;
  } finally {
    keys?.dispose();
    interrupt.dispose();
  }
}
