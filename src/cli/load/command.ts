import type { Command } from 'commander';
import type { DriveResult } from '../../load/judge/drive-result.ts';
import { PER_MS } from '../../load/measure/times.ts';
import type { LoadOptions } from '../../load/plan/options.ts';
import { safeText } from '../../load/plan/redact.ts';
import { runLoad } from '../../load/threads/run.ts';
import { countOf, formatNumber, formatSpan } from '../format.ts';
import { checkOutputs, deliver, jsonText, withSafeErrors } from '../output.ts';
import { renderPage } from '../report/render.ts';
import { parseTarget } from '../values.ts';
import { Interrupt, RATE_KEYS, RateKeys } from './keys.ts';
import { type Live, liveOn } from './live.ts';
import { commandWithOptions, type Given } from './options.ts';
import { EXIT_CODES, exitCode, histogramOf, jsonOf, mainTimes, phasesOf } from './outcome.ts';
import { pageOf } from './page.ts';
import { checkGiven, inputFilesOf, planOf, readInput } from './plan.ts';
import { renderSummary } from './summary.ts';

/** Points per halving of the distance to 100 %, as in wrk2. */
const HGRM_TICKS = 5;

/** The help text after the options. */
const HELP = `
All threads share one limiter, so --rate is their total. No interval ever exceeds it. Latency counts
from the instant at which a request was due, so a server can't hide a stall by delaying later
requests. Requests that time out, or find no connection until 250 ms after the end, count with the
time they waited.

The run starts warm: before the first request is due, code is compiled and the first connections are
open, without a request to your server. To warm up the server as well, use --warmup.

On a terminal, + and - change the rate by 10 % once a line announces these keys. Scheduled
requests move with the rate, and the guarantee is checked across all changes. --ramp changes the rate
evenly: its requests are due as soon as the rate has brought them, and the keys have no effect.

--arrivals poisson sends at random instants at the mean --rate; --seed repeats them. --arrivals FILE
sends one request per line, at the instant on it: seconds, or a timestamp as in an access log, relative
to the first line. Each instant is sent exactly once, by any thread.

--processes 2 starts two processes with --threads each. They share --rate and --connections through
memory. Use it if one process is the bottleneck, for example by its number of open files. It needs
Linux, and Node.js 26.9 or the package koffi.

--redis shares --rate through a Redis server with processes on any machine. Give all of them the same
--rate and --burst. It needs the package redis, and one Redis command per request. A process that
ends does not send the requests that it has reserved: up to 100 ms of the rate, or two per thread if
that is more.

To load your own code, give a module instead of a URL: zerotime load ./task.mjs calls its default
export at each due instant. The module may also export setup and teardown. A call succeeds if it
neither throws nor rejects. --data '{"rows":100}' passes JSON to setup. With --rate max, each thread
calls the module again as soon as a call ends, in --rounds rounds after a warm-up of 500 ms: a benchmark.

A request succeeds if it gets a response with a status below 400. Ctrl-C ends the run early, with a
summary; requests that are still in flight a second later count as failed. Another Ctrl-C, half a
second later or more, exits at once. SIGTERM does the same as Ctrl-C.

For continuous integration, gates bound the result: --max-p99 20ms, --max-errors 1%, --min-rate 99%.
The summary has a line for each failed gate. By default a run fails if more than half of its requests
fail, or if less than 99.9 % of the rate is sent; a rate that misses by one request does not fail.

${EXIT_CODES}
Examples:
  zerotime load                                      2,000/s for 10 s against an embedded server
  zerotime load http://localhost:8080/ --rate 500 --duration 1m
  zerotime load http://server.example/ --redis redis://redis.example:6379    on several machines
  zerotime load http://localhost:8080/ --max-p99 20ms --max-errors 1%    in continuous integration
  zerotime load http://localhost:8080/ --arrivals poisson --seed 1       like many independent visitors
  zerotime load https://localhost:8443/ --http2 --insecure               over HTTP/2
  zerotime load ./task.mjs --rate 100 --concurrency 50                   your own code
  zerotime load ./task.mjs --rate max --threads 2                        as fast as it can
  zerotime load http://localhost:8080/ --json before.json                for zerotime compare
  zerotime load http://localhost:8080/items --body @item.json -H 'Content-Type: application/json'
`;

/** The subcommand `load`. */
export function loadCommand(): Command {
  const load = withSafeErrors(commandWithOptions(), 'zerotime load');
  const inputFiles = inputFilesOf(load);
  return load
    .description(
      'Generate load for an HTTP server or a module at one exact rate, from many threads.',
    )
    .argument(
      '[target]',
      'URL to request, or module to call (default: an embedded server)',
      parseTarget,
    )
    .addHelpText('after', HELP)
    .action(async (url: string | undefined, given: Given, command: Command) => {
      checkOutputs(command, given, inputFiles(url));
      checkGiven(url, given, command);
      const plan = planOf(url, given, await readInput(given, command), command);
      process.exitCode = await runPlan(plan, given);
    });
}

/** Runs the load, prints and writes its result, and returns the exit code. */
function runPlan(plan: LoadOptions, outputs: Given): Promise<number> {
  return deliver({
    outputs,
    run: () => runOnTerminal(plan),
    summary: renderSummary,
    files: (result) => ({
      json: () => jsonText(jsonOf(result)),
      hgrm: () => hgrmText(result),
      report: () => renderPage(pageOf(result)),
    }),
    exitCode,
  });
}

/** Runs the load with a live line, the keys that change the rate, and Ctrl-C. */
async function runOnTerminal(options: LoadOptions): Promise<DriveResult> {
  const interrupt = new Interrupt();
  const terminal: { live?: Live; keys?: RateKeys | undefined } = {};
  try {
    return await runLoad(options, {
      stop: interrupt.signal,
      onStart: (url) => {
        process.stderr.write(`${safeText(headline(url, options))}; Ctrl-C ends it\n`);
        const noun = options.task === undefined ? 'requests' : 'calls';
        terminal.live = liveOn(process.stderr, options.durationMs, noun);
        if (Number.isFinite(options.rate)) terminal.keys = RateKeys.on(process.stdin);
      },
      onSteerable: (steer) => {
        if (terminal.keys === undefined) return;
        terminal.live?.note(RATE_KEYS);
        terminal.keys.enable(steer);
      },
      onProgress: (progress) => terminal.live?.update(progress),
    });
  } finally {
    terminal.live?.stop();
    terminal.keys?.dispose();
    interrupt.dispose();
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
