import { type Command, Option } from 'commander';
import type { LoadOptions } from '../../load/options.ts';
import { InterruptedError, runLoad } from '../../load/run.ts';
import { aboutThisRun } from '../about.ts';
import { paintFor } from '../format.ts';
import { columnsFor } from '../layout.ts';
import { writeFiles, writeOutput } from '../output-files.ts';
import {
  checkOutputs,
  parseOutputPath,
  parseOutputPathOrStdout,
  summaryStream,
} from '../output-path.ts';
import { printError, SAFE_OUTPUT, safeText } from '../safe-text.ts';
import { withArrivals } from './arrival-options.ts';
import { loadAtMax } from './closed-command.ts';
import { closedPlan } from './closed-options.ts';
import { EXIT_FAILED, EXIT_INTERRUPTED, exitCode } from './exit-code.ts';
import { gatedCommand } from './gate-options.ts';
import { headline } from './headline.ts';
import { HELP } from './help.ts';
import { hgrmText } from './hgrm.ts';
import { runInput } from './input.ts';
import { Interrupt } from './interrupt.ts';
import { writeJsonReport } from './json-report.ts';
import { type Live, liveOn } from './live.ts';
import {
  type CommandOptions,
  DEFAULT_CONNECTIONS,
  loadOptions,
  THREADS_TEXT,
} from './load-options.ts';
import { nounOf } from './noun.ts';
import {
  MAX,
  parseBody,
  parseBurst,
  parseConcurrency,
  parseConnections,
  parseDuration,
  parseDurationOrNone,
  parseHeader,
  parseMethod,
  parseProcesses,
  parseRamp,
  parseRateOrMax,
  parseRedisKey,
  parseRedisUrl,
  parseRounds,
  parseThreads,
} from './options.ts';
import { RATE_KEYS, RateKeys } from './rate-keys.ts';
import { writeReport } from './report.ts';
import { renderSummary } from './summary.ts';
import { parseData, parseTarget } from './task-options.ts';
import { withTransport } from './transport-options.ts';

function option<T>(flags: string, description: string, parse: (text: string) => T): Option {
  return new Option(flags, description).argParser(parse);
}

/** The subcommand `load`. */
export function loadCommand(version: string): Command {
  return withTransport(withArrivals(gatedCommand('load')))
    .configureOutput(SAFE_OUTPUT)
    .description(
      'Generate load for an HTTP server or a module at one exact rate, from many threads.',
    )
    .argument(
      '[target]',
      'URL to request, or module to call (default: an embedded server)',
      parseTarget,
    )
    .addOption(
      option(
        '-r, --rate <number>',
        'requests per second over all threads; max calls a module as fast as it can',
        parseRateOrMax,
      ).default(2_000),
    )
    .addOption(
      option(
        '--ramp <from:to:time>',
        'move from one rate to another, such as 500:5000:10s',
        parseRamp,
      ).conflicts('rate'),
    )
    .addOption(
      option(
        '-t, --threads <number>',
        `number of threads (default: ${THREADS_TEXT})`,
        parseThreads,
      ),
    )
    .addOption(
      option(
        '--processes <number>',
        'number of processes to start, with --threads each (default: none)',
        parseProcesses,
      ).conflicts('redis'),
    )
    .addOption(
      option(
        '-c, --connections <number>',
        `maximum connections over all threads (default: ${DEFAULT_CONNECTIONS}, or one per thread)`,
        parseConnections,
      ),
    )
    .addOption(
      option(
        '--concurrency <number>',
        'maximum calls of a module in flight per thread (default: 1000, or 1 with --rate max)',
        parseConcurrency,
      ),
    )
    .addOption(
      option(
        '--data <json>',
        'JSON for the setup function of a module; @file reads a file',
        parseData,
      ),
    )
    .addOption(
      option(
        '--rounds <number>',
        'rounds that --rate max divides the duration into (default: 5)',
        parseRounds,
      ),
    )
    .addOption(
      option('-d, --duration <time>', 'length of the run', parseDuration).default(10_000, '10s'),
    )
    .addOption(
      option(
        '-b, --burst <number>',
        'maximum requests sent at once to catch up after a stall of this client',
        parseBurst,
      ).default(1),
    )
    .addOption(
      option('-m, --method <name>', 'HTTP method (default: GET, or POST with --body)', parseMethod),
    )
    .option('-H, --header <name: value>', 'header to send; repeatable', parseHeader)
    .addOption(
      option('--body <text>', 'body to send; @file reads a file, @- standard input', parseBody),
    )
    .addOption(
      option(
        '--timeout <time>',
        'timeout of each request or call, from its start',
        parseDuration,
      ).default(5_000, '5s'),
    )
    .addOption(
      option(
        '--warmup <time>',
        'length of a warm-up at the initial rate, which does not count',
        parseDurationOrNone,
      ).default(0, 'none; with --rate max, 500ms'),
    )
    .addOption(
      option(
        '--redis <url>',
        'share the rate with all processes that use this Redis server and key',
        parseRedisUrl,
      ).conflicts('ramp'),
    )
    .addOption(
      option(
        '--redis-key <name>',
        "key of the limit on the Redis server (default: derived from the target's origin)",
        parseRedisKey,
      ),
    )
    .addOption(
      option(
        '--json <file>',
        'write the full result as JSON to this file, or - for standard output',
        parseOutputPathOrStdout,
      ),
    )
    .option(
      '--hgrm <file>',
      "write the latencies in HdrHistogram's percentile format",
      parseOutputPath,
    )
    .option('--report <file>', 'write a self-contained HTML page with charts', parseOutputPath)
    .addHelpText('after', HELP)
    .showHelpAfterError('(zerotime load --help shows all options)')
    .action(async (url: string | undefined, given: CommandOptions, command: Command) => {
      const { json, hgrm, report } = given;
      checkOutputs(command, { json, hgrm, report });
      if (given.rate === MAX) {
        process.exitCode = await loadAtMax(closedPlan(url, given, command), given, version);
        return;
      }
      const input = runInput(given, command);
      const read = input instanceof Promise ? await input : input;
      process.exitCode = await load(loadOptions(url, given, read, command), given, version);
    });
}

/** Runs the load, prints and writes its result, and returns the exit code. */
async function load(
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
