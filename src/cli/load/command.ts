import { type Command, Option } from 'commander';
import type { FleetOptions } from '../../load/fleet.ts';
import { type Header, type LoadOptions, type Ramp, threadsOf } from '../../load/options.ts';
import { InterruptedError, runLoad } from '../../load/run.ts';
import { formatNumber, formatSpan, paintFor } from '../format.ts';
import { writeFiles } from '../output-files.ts';
import { parseOutputPath } from '../output-path.ts';
import { printError, SAFE_OUTPUT, safeText } from '../safe-text.ts';
import { EXIT_FAILED, EXIT_INTERRUPTED, exitCode } from './exit-code.ts';
import { gatedCommand, gatesOf } from './gate-options.ts';
import { HELP } from './help.ts';
import { Interrupt } from './interrupt.ts';
import { writeJsonReport } from './json-report.ts';
import { type Live, liveOn } from './live.ts';
import { nounOf } from './noun.ts';
import {
  parseBody,
  parseBurst,
  parseConcurrency,
  parseConnections,
  parseDuration,
  parseHeader,
  parseMethod,
  parseProcesses,
  parseRamp,
  parseRate,
  parseRedisKey,
  parseRedisUrl,
  parseThreads,
} from './options.ts';
import { RateKeys } from './rate-keys.ts';
import { writeReport } from './report.ts';
import { renderSummary } from './summary.ts';
import { parseTarget, taskOf } from './task-options.ts';
import { threadsText } from './threads-text.ts';

const DEFAULT_CONNECTIONS = 64;

/** The options as parsed by commander. */
interface CommandOptions {
  readonly rate: number;
  readonly ramp?: Ramp;
  readonly threads: number;
  readonly processes?: number;
  readonly connections?: number;
  readonly duration: number;
  readonly burst: number;
  readonly method?: string;
  readonly header?: Header[];
  readonly body?: Uint8Array;
  readonly timeout: number;
  readonly warmup: number;
  readonly json?: string;
  readonly report?: string;
  readonly redis?: string;
  readonly redisKey?: string;
}

function option<T>(flags: string, description: string, parse: (text: string) => T): Option {
  return new Option(flags, description).argParser(parse);
}

/** The subcommand `load`. */
export function loadCommand(version: string): Command {
  return gatedCommand('load')
    .configureOutput(SAFE_OUTPUT)
    .description('Drive an HTTP server, or a module, at one exact rate from many threads.')
    .argument(
      '[target]',
      'URL to request, or module to call (default: an embedded server)',
      parseTarget,
    )
    .addOption(
      option('-r, --rate <number>', 'requests per second over all threads', parseRate).default(
        2_000,
      ),
    )
    .addOption(
      option(
        '--ramp <from:to:time>',
        'move from one rate to another, such as 500:5000:10s',
        parseRamp,
      ).conflicts('rate'),
    )
    .addOption(
      option('-t, --threads <number>', 'threads that send the requests', parseThreads).default(4),
    )
    .addOption(
      option(
        '--processes <number>',
        'processes with that many threads each (default: threads of this one)',
        parseProcesses,
      ).conflicts(['redis', 'arrivals']),
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
        'maximum calls of a module in flight on each thread (default: 1000)',
        parseConcurrency,
      ),
    )
    .addOption(
      option('-d, --duration <time>', 'length of the run', parseDuration).default(10_000, '10s'),
    )
    .addOption(
      option(
        '-b, --burst <number>',
        'requests that may be sent at once to catch up after a stall of this client',
        parseBurst,
      ).default(1),
    )
    .addOption(
      option('-m, --method <name>', 'HTTP method (default: GET, or POST with --body)', parseMethod),
    )
    .option('-H, --header <name: value>', 'header to send; repeatable', parseHeader)
    .addOption(
      option('--body <text>', 'body to send, or @file for the content of a file', parseBody),
    )
    .addOption(
      option(
        '--timeout <time>',
        'timeout of each request or call, from its beginning',
        parseDuration,
      ).default(5_000, '5s'),
    )
    .addOption(
      option(
        '--warmup <time>',
        'send at the first rate for this long before anything counts',
        parseDuration,
      ).default(0, 'none'),
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
        "key of the limit on the Redis server (default: from the target's origin)",
        parseRedisKey,
      ),
    )
    .addOption(option('--json <file>', 'write the full result to this file', parseOutputPath))
    .option('--report <file>', 'write a self-contained page with charts', parseOutputPath)
    .addHelpText('after', HELP)
    .showHelpAfterError('(zerotime load --help shows all options)')
    .action(async (url: string | undefined, given: CommandOptions, command: Command) => {
      process.exitCode = await load(loadOptions(url, given, command), given, version);
    });
}

function loadOptions(
  url: string | undefined,
  given: CommandOptions,
  command: Command,
): LoadOptions {
  const { rate, threads, processes, burst, duration, timeout, header, body } = given;
  const all = threadsOf({ threads, processes });
  const task = taskOf(url, { ...given }, command);
  const connections = given.connections ?? Math.max(DEFAULT_CONNECTIONS, all);
  if (connections < all) {
    const least = processes === undefined ? '--threads' : '--processes x --threads';
    command.error(
      `error: --connections must be at least ${least}, ${all}, because each thread needs one; ` +
        `got ${connections}`,
    );
  }
  if (given.redis !== undefined && url === undefined) {
    command.error('error: --redis needs the url of a target, shared by all processes');
  }
  if (given.redisKey !== undefined && given.redis === undefined) {
    command.error('error: --redis-key needs --redis, the server that has the key');
  }
  return {
    url,
    task,
    fleet: fleetOptions(url, given),
    rate: given.ramp?.to ?? rate,
    ramp: given.ramp,
    burst,
    threads,
    processes,
    connections,
    durationMs: duration,
    timeoutMs: timeout,
    warmupMs: given.warmup,
    method: given.method ?? (body === undefined ? 'GET' : 'POST'),
    headers: header ?? [],
    body,
    gates: gatesOf({ ...given }),
    latencyByTime: given.report !== undefined,
  };
}

function fleetOptions(url = '', given: CommandOptions): FleetOptions | undefined {
  const { redis, redisKey, rate, burst } = given;
  if (redis === undefined) return undefined;
  const key = redisKey ?? `zerotime-load:${new URL(url).origin}`;
  return { url: redis, key, rate, burst };
}

/** Runs the load and prints and writes its result; returns the exit code. */
async function load(
  options: LoadOptions,
  { json, report }: Pick<CommandOptions, 'json' | 'report'>,
  version: string,
): Promise<number> {
  const { stdout, stderr } = process;
  let live: Live | undefined;
  let keys: RateKeys | undefined;
  const interrupt = new Interrupt();
  try {
    const result = await runLoad(options, {
      stop: interrupt.signal,
      onStart: (url) => {
        stderr.write(`${safeText(headline(url, options))}\n`);
        live = liveOn(stderr, options.durationMs, nounOf(options));
      },
      onSteerable: (steer) => {
        keys = RateKeys.on(process.stdin, steer);
      },
      onProgress: (progress) => live?.update(progress),
    });
    live?.stop();
    stdout.write(`${renderSummary(result, paintFor(stdout)).join('\n')}\n`);
    const areWritten = writeFiles([
      { path: json, write: (path) => writeJsonReport(path, result, version) },
      { path: report, write: (path) => writeReport(path, result, version) },
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

function headline(url: string, options: LoadOptions): string {
  const { rate, ramp, threads, processes, durationMs, fleet } = options;
  const from = ramp === undefined ? '' : `${formatNumber(ramp.from)}/s to `;
  const by = threadsText(threads, processes);
  const shared = fleet === undefined ? '' : `, shared under ${fleet.key}`;
  const keys = process.stdin.isTTY && fleet === undefined ? '+ and - change the rate, ' : '';
  return `${url} at ${from}${formatNumber(rate)}/s for ${formatSpan(durationMs)}, by ${by}${shared}; ${keys}Ctrl-C ends it`;
}
