import { Command, Option } from 'commander';
import { DURATIONS, OPTION_GROUPS, SEEDS } from '../../load/plan/option-table.ts';
import { type LimiterSpec, parseLimiter } from '../../simulate/limiter-specs.ts';
import { parsePattern } from '../../simulate/patterns.ts';
import { runSimulation, type SimulateOptions } from '../../simulate/run.ts';
import { parseServer } from '../../simulate/server.ts';
import { formatNumber, formatShare, formatSpan } from '../format.ts';
import { optionOf } from '../load/options.ts';
import { checkOutputs, deliver, jsonText, parseOutputPath, withSafeErrors } from '../output.ts';
import { renderPage } from '../report/render.ts';
import { parseCount, parseDuration, parsed, parseInputPath } from '../values.ts';
import { exitCode, jsonOf } from './outcome.ts';
import { pageOf } from './page.ts';
import { renderSummary } from './summary.ts';
import { drawSvg } from './svg.ts';

const NOTES = `
Limiters, with the options of their classes. If joined by ' + ', all of them must admit a call:
  token-bucket rate=... burst=... [initial=...]
  token-bucket quantum=... fillIntervalMs=... burst=... [initial=...]
  leaky-bucket rate=... [slack=...]
  fixed-window limit=... intervalMs=... [initial=...]
  sliding-window limit=... intervalMs=... [slots=...] [initial=...]
  sliding-log limit=... intervalMs=... [initial=...]
  semaphore permits=...   calls in flight; first or alone, with --server
  semaphore adapt=gradient|vegas|aimd max=... [min=...] [initial=...]   a number that adapts

Server. Processes up to 'capacity' calls at once (default: unlimited) and queues the others:
  constant serviceMs=... [capacity=...]
  exponential serviceMs=... [capacity=...]   random, serviceMs on average
With a capacity, both take reducedTo=... fromMs=... untilMs=... (all three): a smaller capacity for
some time, as during a backup.

Arrivals. Join several patterns by ' + ':
  constant rate=...                        evenly spaced
  poisson rate=...                         random and independent
  bursts size=... everyMs=... [overMs=...] all at once, or spread over overMs

A rate is per second unless it has a unit: rate=6000/minute. Each arrival takes one token.

A file has one timestamp per line: common log format, ISO dates, or epoch seconds or milliseconds at
the start of the line. It is read as a stream. Timestamps of whole seconds are spread evenly over
their second; --no-spread keeps them as they are.

Exit code: 0 if all is well; 1 if the command line is invalid, no timestamp was found, a timestamp is
more than a year after the one before, or a file or standard output could not be written; 2 if a
limiter admitted more than it guarantees.

Examples:
  zerotime simulate -l 'token-bucket rate=100 burst=20' -a 'poisson rate=120' --seed 1
  zerotime simulate -l 'semaphore permits=10 + token-bucket rate=100 burst=20' \\
    -a 'poisson rate=120' --server 'exponential serviceMs=80 capacity=16' --wait 1s
  zerotime simulate -l 'sliding-log limit=500 intervalMs=1000' -l 'leaky-bucket rate=500' \\
    -f access.log --wait 2s --svg limits.svg --report limits.html
`;

/** The options as parsed by commander. */
interface CommandOptions extends Omit<SimulateOptions, 'limiters'> {
  readonly limiter: LimiterSpec[];
  readonly json?: string;
  readonly svg?: string;
  readonly report?: string;
}

/** The subcommand `simulate`. */
export function simulateCommand(): Command {
  return withSafeErrors(new Command('simulate'), 'zerotime simulate')
    .description(
      'Replay traffic through limiters in simulated time, to compare limiters and their options.',
    )
    .addOption(
      new Option('-l, --limiter <limiter>', 'limiter to try; repeatable')
        .argParser(parsed(addLimiter))
        .makeOptionMandatory(),
    )
    .option('-a, --arrivals <pattern>', 'arrival pattern', parsed(parsePattern))
    .option('--server <server>', 'how long calls take (default: 0)', parsed(parseServer))
    .addOption(
      new Option(
        '-f, --file <path>',
        'file with timestamps, such as an access log; - for standard input',
      )
        .argParser(parseInputPath)
        .conflicts('arrivals'),
    )
    .option('--no-spread', 'keep timestamps of whole seconds as they are')
    .option('-d, --duration <time>', 'time to simulate (default: 1m, or the whole file)', (text) =>
      parseDuration(text),
    )
    .option('-w, --wait <time>', 'maximum wait of callers for a token (default: none)', (text) =>
      parseDuration(text, { ...DURATIONS, orNone: true }),
    )
    .option(
      '--seed <number>',
      'seed of random arrivals and service times, to repeat a run (default: random)',
      (text) => parseCount(text, SEEDS),
    )
    .addOption(optionOf('json', OPTION_GROUPS.Results.json))
    .option('--svg <file>', 'write a drawing of arrivals, admissions and bounds', parseOutputPath)
    .addOption(optionOf('report', OPTION_GROUPS.Results.report))
    .addHelpText('after', NOTES)
    .action(async (given: CommandOptions, command: Command) => {
      if (given.arrivals === undefined && given.file === undefined) {
        command.error('error: give --arrivals or --file');
      }
      const isRandom = given.arrivals?.isRandom || given.server?.isRandom;
      if (given.seed !== undefined && !isRandom) {
        command.error(
          'error: --seed needs random arrivals or a random server: nothing else is random',
        );
      }
      if (!given.spread && given.file === undefined) {
        command.error('error: --no-spread needs --file: patterns have no timestamps');
      }
      if (given.server === undefined && given.limiter.some(({ hasPermits }) => hasPermits)) {
        command.error('error: a semaphore needs --server, which defines how long permits are held');
      }
      checkOutputs(command, given, given.file === undefined ? [] : [given.file]);
      process.exitCode = await run(given);
    });
}

/** Runs the simulation, prints and writes its result, and returns the exit code. */
function run(given: CommandOptions): Promise<number> {
  const startedMs = performance.now();
  const onProgress = progressOn(process.stderr);
  let tookMs = 0;
  return deliver({
    outputs: given,
    run: async () => {
      const result = await runSimulation({ ...given, limiters: given.limiter, onProgress });
      tookMs = performance.now() - startedMs;
      return result;
    },
    summary: renderSummary,
    files: (result) => {
      process.stderr.write(`${speed(result.durationMs, tookMs)}\n`);
      return {
        json: () => jsonText(jsonOf(result)),
        svg: () => drawSvg(result),
        report: () => renderPage(pageOf(result)),
      };
    },
    exitCode,
  });
}

/** How fast a simulation was. */
export function speed(durationMs: number, tookMs: number): string {
  const times = Math.round(durationMs / tookMs);
  const faster = times > 1 ? `, ${formatNumber(times)} times faster` : '';
  return `${formatSpan(Math.round(durationMs))} simulated in ${formatSpan(Math.round(tookMs))}${faster}`;
}

/** Parses one limiter and appends it to the previous ones. */
function addLimiter(text: string, before: readonly LimiterSpec[] = []): LimiterSpec[] {
  return [...before, parseLimiter(text)];
}

/** Long enough to know the speed. */
const FIRST_MS = 1_000;
const EVERY_MS = 10_000;
/** A shorter rest needs no line. */
const LEAST_LEFT_MS = 5_000;

/** Says how long a long simulation will take, and how far it is. Call with the share simulated. */
export function progressOn(
  stream: NodeJS.WritableStream,
  nowMs = () => performance.now(),
): (share: number) => void {
  const startedMs = nowMs();
  let nextMs = startedMs + FIRST_MS;
  return (share) => {
    const atMs = nowMs();
    if (atMs < nextMs) return;
    nextMs = atMs + EVERY_MS;
    const leftMs = (atMs - startedMs) * (1 / share - 1);
    if (leftMs < LEAST_LEFT_MS) return;
    const left = formatSpan(1_000 * Math.round(leftMs / 1_000));
    stream.write(`${formatShare(share, 1)} simulated, about ${left} left; Ctrl-C ends it\n`);
  };
}
