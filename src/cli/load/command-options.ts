import { type Command, Option } from 'commander';
import { parseOutputPath, parseOutputPathOrStdout } from '../output-path.ts';
import { withArrivals } from './arrival-options.ts';
import { gatedCommand } from './gate-options.ts';
import { DEFAULT_CONNECTIONS, THREADS_TEXT } from './load-options.ts';
import {
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
import { parseData } from './task-options.ts';
import { withTransport } from './transport-options.ts';

function option<T>(flags: string, description: string, parse: (text: string) => T): Option {
  return new Option(flags, description).argParser(parse);
}

/** A command with all options of `load`, grouped for its help. */
export function commandWithOptions(): Command {
  const others = (command: Command) =>
    withRedis(withModule(withTransport(withRequests(withArrivals(withSchedule(command))))));
  return withOutputs(gatedCommand('load', others));
}

/** How much load, when and from where. */
function withSchedule(command: Command): Command {
  return command
    .optionsGroup('Load:')
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
      option('-d, --duration <time>', 'length of the run', parseDuration).default(10_000, '10s'),
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
        '-b, --burst <number>',
        'maximum requests sent at once to catch up after a stall of this client',
        parseBurst,
      ).default(1),
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
        '--timeout <time>',
        'timeout of each request or call, from its start',
        parseDuration,
      ).default(5_000, '5s'),
    );
}

function withRequests(command: Command): Command {
  return command
    .optionsGroup('Requests:')
    .addOption(
      option('-m, --method <name>', 'HTTP method (default: GET, or POST with --body)', parseMethod),
    )
    .option('-H, --header <name: value>', 'header to send; repeatable', parseHeader)
    .addOption(
      option('--body <text>', 'body to send; @file reads a file, @- standard input', parseBody),
    )
    .addOption(
      option(
        '-c, --connections <number>',
        `maximum connections over all threads (default: ${DEFAULT_CONNECTIONS}, or one per thread)`,
        parseConnections,
      ),
    );
}

function withModule(command: Command): Command {
  return command
    .optionsGroup('Calls of a module:')
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
    );
}

function withRedis(command: Command): Command {
  return command
    .optionsGroup('A rate for several machines:')
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
    );
}

function withOutputs(command: Command): Command {
  return command
    .optionsGroup('Results:')
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
    .option('--report <file>', 'write a self-contained HTML page with charts', parseOutputPath);
}
