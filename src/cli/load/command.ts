import type { Command } from 'commander';
import type { DriveResult } from '../../load/judge/drive-result.ts';
import { PER_MS } from '../../load/measure/times.ts';
import type { LoadOptions } from '../../load/plan/options.ts';
import { safeText } from '../../load/plan/redact.ts';
import { runLoad } from '../../load/threads/run.ts';
import { aboutThisRun } from '../about.ts';
import { countOf, formatNumber, formatSpan } from '../format.ts';
import { checkOutputs, deliver, SAFE_OUTPUT, writeJson, writeOutput } from '../output.ts';
import { writePage } from '../report/render.ts';
import { parseTarget } from '../values.ts';
import { HELP } from './help.ts';
import { Interrupt, RATE_KEYS, RateKeys } from './keys.ts';
import { type Live, liveOn } from './live.ts';
import { commandWithOptions, type Given } from './options.ts';
import { exitCode, histogramOf, jsonOf, mainTimes, phasesOf } from './outcome.ts';
import { pageOf } from './page.ts';
import { checkGiven, inputFilesOf, planOf, readInput } from './plan.ts';
import { renderSummary } from './summary.ts';

/** Points per halving of the distance to 100 %, as in wrk2. */
const HGRM_TICKS = 5;

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
    .action(async (url: string | undefined, given: Given, command: Command) => {
      const { json, hgrm, report } = given;
      checkOutputs(command, { json, hgrm, report }, inputFiles(url));
      checkGiven(url, given, command);
      const input = readInput(given, command);
      const plan = planOf(url, given, input instanceof Promise ? await input : input, command);
      process.exitCode = await runPlan(plan, given, version);
    });
}

/** Runs the load, prints and writes its result, and returns the exit code. */
function runPlan(
  plan: LoadOptions,
  { json, hgrm, report }: Pick<Given, 'json' | 'hgrm' | 'report'>,
  version: string,
): Promise<number> {
  return deliver({
    json,
    run: async () => {
      const running = new Running();
      try {
        return await running.run(plan);
      } finally {
        running.end();
      }
    },
    summary: renderSummary,
    files: (result) => {
      const about = aboutThisRun(version);
      return [
        { path: json, write: (path) => writeJson(path, jsonOf(result, about)) },
        { path: hgrm, write: (path) => writeOutput(path, hgrmText(result)) },
        { path: report, write: (path) => writePage(path, pageOf(result, about)) },
      ];
    },
    exitCode,
  });
}

/** The terminal during a run: the live line, the keys that change the rate, and Ctrl-C. */
class Running {
  readonly #interrupt = new Interrupt();
  #live: Live | undefined;
  #keys: RateKeys | undefined;

  async run(options: LoadOptions): Promise<DriveResult> {
    const result = await runLoad(options, {
      stop: this.#interrupt.signal,
      onStart: (url) => {
        process.stderr.write(`${safeText(headline(url, options))}; Ctrl-C ends it\n`);
        const noun = options.task === undefined ? 'requests' : 'calls';
        this.#live = liveOn(process.stderr, options.durationMs, noun);
        if (Number.isFinite(options.rate)) this.#keys = RateKeys.on(process.stdin);
      },
      onSteerable: (steer) => {
        if (this.#keys === undefined) return;
        this.#live?.note(RATE_KEYS);
        this.#keys.enable(steer);
      },
      onProgress: (progress) => this.#live?.update(progress),
    });
    this.#live?.stop();
    return result;
  }

  /** Restores the terminal. */
  end(): void {
    this.#live?.stop();
    this.#keys?.dispose();
    this.#keys = undefined;
    this.#interrupt.dispose();
  }
}

/** What a run is going to do. */
function headline(url: string, options: LoadOptions): string {
  const { rate, ramp, threads, processes, durationMs, fleet } = options;
  const span = formatSpan(durationMs);
  if (rate === Number.POSITIVE_INFINITY) {
    return `${url} at the maximum rate for ${span}, by ${countOf(threads, 'threads')}`;
  }
  const from = ramp === undefined ? '' : `${formatNumber(ramp.from)}/s to `;
  const shared = fleet === undefined ? '' : `, shared under ${fleet.key}`;
  const by = threadsText(threads, processes);
  return `${url} at ${from}${formatNumber(rate)}/s for ${span}, by ${by}${shared}`;
}

/** Describes the threads and processes of a run. */
export function threadsText(threads: number, processes: number | undefined): string {
  const each = countOf(threads, 'threads');
  const all = processes === undefined ? each : `${countOf(processes, 'processes')} of ${each}`;
  return threads * (processes ?? 1) === 1 ? all : `${all} that share one limiter`;
}

/**
 * The distribution in HdrHistogram's percentile format, in milliseconds. Its plotter expects the
 * footer of the C and Java implementations.
 */
function hgrmText(result: DriveResult): string {
  const perMs = PER_MS[mainTimes(result).hdrUnit];
  return histogramOf(result, phasesOf(result)[0][0]).outputPercentileDistribution(
    HGRM_TICKS,
    perMs,
  );
}
