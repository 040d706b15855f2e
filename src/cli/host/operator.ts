import type { Command } from 'commander';
import type { HostRegion } from '../../host/host-region.ts';
import { operate } from '../../host/operations.ts';
import { countOf } from '../format.ts';
import { parseDuration, parsed } from '../values.ts';
import {
  type Assignment,
  changesIn,
  differences,
  operationOf,
  parseAssignment,
  userName,
} from './requested-change.ts';
import { keyTypeOption, onRegion, print, type RegionOptions, withRegion } from './subcommand.ts';
import { columns } from './summary.ts';

// Changes of limits from outside the program, and the log of them.

interface ChangeOptions extends RegionOptions {
  readonly dryRun?: boolean;
  readonly record: boolean;
  readonly keyType?: string;
}

/** The subcommands that change limiters, and the one that shows their changes. */
export function operatorCommands(): readonly Command[] {
  return [
    changing('set')
      .description('change the limit of a limiter, for all processes at once')
      .argument('<changes...>', 'such as rate=50 burst=10', parsed(parseAssignment))
      .addHelpText('after', SET_NOTES)
      .action((path: string, name: string, assignments: Assignment[], options: ChangeOptions) =>
        change(path, name, { action: 'set', assignments }, options),
      ),
    changing('pause')
      .description(
        'stop a limiter until it is resumed; a bucket still grants the tokens that it holds',
      )
      .action((path: string, name: string, options: ChangeOptions) =>
        change(path, name, { action: 'pause' }, options),
      ),
    changing('resume')
      .description('give a paused limiter the limit that it had before')
      .action((path: string, name: string, options: ChangeOptions) =>
        change(path, name, { action: 'resume' }, options),
      ),
    changing('block')
      .addOption(keyTypeOption('key'))
      .description('refuse a key for a time')
      .argument('<key>', 'the key')
      .argument('<time>', 'from 1ms to 24h, such as 10m', (text) => parseDuration(text))
      .action((path: string, name: string, key: string, ms: number, options: ChangeOptions) =>
        change(path, name, { action: 'block', key, ms }, options),
      ),
    changing('reset')
      .addOption(keyTypeOption('key'))
      .description('fill the bucket of a key, or a bucket without keys; ends a block or debt')
      .argument('[key]', 'the key')
      .action((path: string, name: string, key: string | undefined, options: ChangeOptions) =>
        change(path, name, { action: 'reset', key }, options),
      ),
    onRegion('log')
      .description('show the last 100 changes that were made by these commands')
      .action((path: string, options: RegionOptions) =>
        withRegion(path, options, (region) => print(shownLog(region))),
      ),
  ];
}

const SET_NOTES = `
The fields are the options of the limiter: rate and burst; of a quantum bucket, quantum,
fillIntervalMs and burst; of a leaky bucket, rate and slack; of windows, limit and intervalMs; of a
semaphore, permits; of an adaptive one, permits.min and permits.max. Limits of a set are
limits[0].rate and so on, or limits.0.rate; tiers of a keyed table tiers.NAME.rate.

Examples:
  zerotime host set my-service api rate=50 burst=10 --dry-run
  zerotime host set my-service permits permits=20
  zerotime host set my-service 'per user' tiers.pro.rate=100
`;

/** A subcommand that changes a limiter. */
function changing(name: string): Command {
  return onRegion(name)
    .argument('<name>', 'the limiter')
    .option('-n, --dry-run', 'show the change without making it')
    .option('--no-record', 'make the change without a record of it');
}

function change(
  path: string,
  name: string,
  request: Parameters<typeof operationOf>[0],
  options: ChangeOptions,
): Promise<void> {
  const { dryRun: isDry = false, record: isRecorded, keyType } = options;
  return withRegion(path, options, (region) => {
    const operation = operationOf({ keyType, ...request });
    const made = operate(region, name, operation, { user: userName(), isDry, isRecorded });
    const what = `${name} (${made.kind})`;
    if (made.change === undefined) {
      print([`${what}: nothing to change`]);
      return;
    }
    const rows = differences(made.change.from, made.change.to);
    print([`${what}${isDry ? ', dry run: nothing was changed' : ''}`, ...columns(rows)]);
  });
}

/** The record of the changes in a region. */
function shownLog(region: HostRegion): string[] {
  const rows = changesIn(region).map(({ number, atMs, pid, user, ...texts }) => {
    const at = new Date(atMs).toISOString().replace('T', ' ');
    const { limiter, what, values, stage } = texts;
    return [`${number}`, at, user, `pid ${pid}`, limiter, what, values, stage];
  });
  return [`${region.path}: ${countOf(rows.length, 'changes')}`, ...columns(rows)];
}
