import { type Command, Option } from 'commander';
import { ChangeLog } from '../../host/change-log.ts';
import { HostRegion } from '../../host/host-region.ts';
import {
  blocking,
  type Operation,
  operate,
  pausing,
  resetting,
  resuming,
  setting,
} from '../../host/operations.ts';
import { namesIn } from '../../memory/names.ts';
import { countOf } from '../format.ts';
import { parseDuration, parsed } from '../values.ts';
import {
  type Assignment,
  changeOf,
  differences,
  KEY_TYPES,
  type KeyType,
  keyOf,
  parseAssignment,
  shownChange,
  stageOf,
  userName,
} from './requested-change.ts';
import { onRegion, print, report } from './subcommand.ts';
import { columns } from './summary.ts';

// Changes of limits from outside the program, and their record.

interface RegionOptions {
  readonly owner?: number;
}

interface ChangeOptions extends RegionOptions {
  readonly dryRun: boolean;
  readonly record: boolean;
}

interface KeyOptions extends ChangeOptions {
  readonly keyType: KeyType;
}

/** The subcommands that change limiters, and the one that shows their changes. */
export function operatorCommands(): readonly Command[] {
  return [
    changing('set')
      .description('change the limit of a limiter, for all processes at once')
      .argument('<changes...>', 'such as rate=50 burst=10', parsed(parseAssignment))
      .addHelpText('after', SET_NOTES)
      .action((path: string, name: string, changes: Assignment[], options: ChangeOptions) =>
        change(
          path,
          name,
          setting((terms) => changeOf(changes, terms)),
          options,
        ),
      ),
    changing('pause')
      .description('let a limiter admit nothing until it is resumed')
      .action((path: string, name: string, options: ChangeOptions) =>
        change(path, name, pausing, options),
      ),
    changing('resume')
      .description('give a paused limiter the limit that it had before')
      .action((path: string, name: string, options: ChangeOptions) =>
        change(path, name, resuming, options),
      ),
    keyed(changing('block'))
      .description('refuse a key for a time')
      .argument('<key>', 'the key')
      .argument('<time>', 'from 1ms to 24h, such as 10m', (text) => parseDuration(text))
      .action((path: string, name: string, key: string, ms: number, options: KeyOptions) =>
        change(path, name, () => blocking(keyOf(key, options.keyType), ms), options),
      ),
    keyed(changing('reset'))
      .description('fill the bucket of a key, or a bucket without keys; ends a block or debt')
      .argument('[key]', 'the key')
      .action((path: string, name: string, key: string | undefined, options: KeyOptions) =>
        change(
          path,
          name,
          () => resetting(key === undefined ? undefined : keyOf(key, options.keyType)),
          options,
        ),
      ),
    onRegion('log')
      .description('show the last 100 changes that were made by these commands')
      .action((path: string, options: RegionOptions) =>
        report(() => onFound(path, options, (region) => print(shownLog(region)))),
      ),
  ];
}

const SET_NOTES = `
The fields are the options of the limiter: rate and burst; of a quantum bucket, quantum,
fillIntervalMs and burst; of a leaky bucket, rate and slack; of windows, limit and intervalMs; of a
semaphore, permits. Limits of a set are limits[0].rate and so on, or limits.0.rate; tiers of a keyed
table tiers.NAME.rate.

Examples:
  zerotime host set my-service api rate=50 burst=10 --dry-run
  zerotime host set my-service permits permits=20
  zerotime host set my-service 'per user' tiers.pro.rate=100
`;

/** A subcommand that changes a limiter. */
function changing(name: string): Command {
  return onRegion(name)
    .argument('<name>', 'the limiter')
    .option('-n, --dry-run', 'show the change without making it', false)
    .option('--no-record', 'make the change without a record of it');
}

/** Adds the type of a key. */
function keyed(command: Command): Command {
  return command.addOption(
    new Option('--key-type <type>', 'the type of the key in the program')
      .choices(KEY_TYPES)
      .default('string'),
  );
}

function onFound(path: string, { owner }: RegionOptions, action: (region: HostRegion) => void) {
  const region = HostRegion.find(path, owner);
  try {
    action(region);
  } finally {
    region.close();
  }
}

function change(
  path: string,
  name: string,
  operation: Operation | (() => Operation),
  options: ChangeOptions,
): Promise<void> {
  const { dryRun: isDry, record: isRecorded } = options;
  return report(() =>
    onFound(path, options, (region) => {
      const given = typeof operation === 'function' ? operation() : operation;
      const made = operate(region, name, given, { user: userName(), isDry, isRecorded });
      const what = `${name} (${made.kind})`;
      if (made.change === undefined) {
        print([`${what}: nothing to change`]);
        return;
      }
      const { from, to } = made.change;
      const rows = differences(from, to).map(([field, values]) => [field, values]);
      print([`${what}${isDry ? ', dry run: nothing was changed' : ''}`, ...columns(rows)]);
    }),
  );
}

/** The record of the changes in a region. */
function shownLog(region: HostRegion): string[] {
  const changes = ChangeLog.find(region)?.changes() ?? [];
  const names = new Map([...namesIn(region)].map(({ name, cell }) => [cell, name]));
  const rows = changes.map((each) => [
    `${each.number}`,
    new Date(each.begunMs).toISOString().replace('T', ' '),
    each.user,
    `pid ${each.pid}`,
    names.get(each.cell) ?? '',
    each.key === undefined ? each.action : `${each.action} ${each.key}`,
    shownChange(each),
    stageOf(each, region, each === changes.at(-1)),
  ]);
  return [`${region.path}: ${countOf(changes.length, 'changes')}`, ...columns(rows)];
}
