import { userInfo } from 'node:os';
import { type Command, InvalidArgumentError, Option } from 'commander';
import { ChangeLog, type RecordedChange, type Values } from '../../host/change-log.ts';
import { HostRegion } from '../../host/host-region.ts';
import {
  blocking,
  fieldsOf,
  type Operation,
  operate,
  pausing,
  resetting,
  resuming,
  setting,
} from '../../host/operations.ts';
import type { Terms } from '../../limiters/terms.ts';
import { namesIn } from '../../memory/names.ts';
import { countOf } from '../format.ts';
import { parseDuration, parsed } from '../values.ts';
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
  readonly keyType: 'string' | 'number' | 'bigint';
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
        change(path, name, () => blocking(keyOf(key, options), ms), options),
      ),
    keyed(changing('reset'))
      .description('fill the bucket of a key, or a bucket without keys; ends a block or debt')
      .argument('[key]', 'the key')
      .action((path: string, name: string, key: string | undefined, options: KeyOptions) =>
        change(
          path,
          name,
          () => resetting(key === undefined ? undefined : keyOf(key, options)),
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
      .choices(['string', 'number', 'bigint'])
      .default('string'),
  );
}

function keyOf(text: string, { keyType }: KeyOptions): string | number | bigint {
  if (keyType === 'string') return text;
  try {
    const key = keyType === 'bigint' ? BigInt(text) : Number(text);
    if (text.trim() !== '' && !Number.isNaN(key)) return key;
  } catch {
    // not a bigint
  }
  throw new TypeError(`key must be a ${keyType}, got ${JSON.stringify(text)}`);
}

/** A new value of a field. */
interface Assignment {
  readonly field: string;
  /** The index of a limit in a set, or the name of a tier. */
  readonly limit: number | undefined;
  readonly tier: string | undefined;
  readonly value: unknown;
}

const PATH = /^(?:limits(?:\[(\d{1,2})\]|\.(\d{1,2}))\.|tiers\.(.+)\.)?([a-z]\w*)$/i;

/** Parses `rate=50`, and appends it to the previous ones. */
function parseAssignment(text: string, before: readonly Assignment[] = []): Assignment[] {
  const equals = text.lastIndexOf('=');
  const [, index, dotted, tier, field] = PATH.exec(text.slice(0, equals)) ?? [];
  if (equals === -1 || field === undefined) {
    throw new InvalidArgumentError(
      'It must be a field and its value, such as rate=50, limits[1].rate=5 or tiers.pro.rate=5.',
    );
  }
  const limit = index ?? dotted;
  const value = parseValue(text.slice(equals + 1));
  return [...before, { field, limit: limit === undefined ? limit : Number(limit), tier, value }];
}

/** The limiter rejects anything but a number. */
function parseValue(text: string): unknown {
  const number = Number(text);
  return text.trim() === '' || Number.isNaN(number) ? text : number;
}

/** The argument of `reconfigure`. */
function changeOf(assignments: readonly Assignment[], { limits }: Terms): Values {
  const own = new Map<string, unknown>();
  const ofLimits = new Map<number, Map<string, unknown>>();
  const ofTiers = new Map<string, Map<string, unknown>>();
  for (const { field, limit, tier, value } of assignments) {
    const fields =
      limit !== undefined
        ? entry(ofLimits, limit)
        : tier !== undefined
          ? entry(ofTiers, tier)
          : own;
    if (fields.has(field)) throw new TypeError(`${field} is given twice`);
    fields.set(field, value);
  }
  if (ofLimits.size > 0) {
    const count = Math.max(
      1 + Math.max(...ofLimits.keys()),
      Array.isArray(limits) ? limits.length : 0,
    );
    const each = Array.from({ length: count }, (_, i) => Object.fromEntries(ofLimits.get(i) ?? []));
    own.set('limits', each);
  }
  if (ofTiers.size > 0) {
    const each = [...ofTiers].map(([tier, fields]) => [tier, Object.fromEntries(fields)] as const);
    own.set('tiers', Object.fromEntries(each));
  }
  return Object.fromEntries(own);
}

function entry<Name>(all: Map<Name, Map<string, unknown>>, name: Name): Map<string, unknown> {
  const fields = all.get(name) ?? new Map<string, unknown>();
  all.set(name, fields);
  return fields;
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

/** The user of this process; its ID if the system has no name for it. */
function userName(): string {
  try {
    return userInfo().username;
  } catch {
    return `user ${process.getuid?.()}`;
  }
}

/** The fields that differ, each with its values: `10 -> 50`. */
function differences(from: Values, to: Values): [field: string, values: string][] {
  const [before, after] = [fieldsOf(from), fieldsOf(to)];
  const fields = new Set([...before.keys(), ...after.keys()]);
  return [...fields].map((field) => {
    const values = [before, after].flatMap((each) => (each.has(field) ? `${each.get(field)}` : []));
    // A quantum bucket that pauses has a rate then, and no quantum.
    return [field, `${values.join(' -> ')}${after.has(field) ? '' : ' -> none'}`];
  });
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

function shownChange({ from, to }: RecordedChange): string {
  if (typeof from === 'string' || typeof to === 'string') {
    return [from, to]
      .map((one) => (typeof one === 'string' ? one : JSON.stringify(one)))
      .join(' -> ');
  }
  return differences(from, to)
    .map((difference) => difference.join(' '))
    .join(', ');
}

function stageOf({ stage }: RecordedChange, region: HostRegion, isLast: boolean): string {
  if (stage !== 'begun') return stage === 'done' ? '' : stage;
  return isLast && region.isOperated ? 'in progress' : 'interrupted';
}
