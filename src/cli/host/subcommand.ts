import { Command, Option } from 'commander';
import { HostRegion } from '../../host/host-region.ts';
import { printableLine } from '../../load/plan/redact.ts';
import { EXIT, printError, withSafeErrors } from '../output.ts';
import { invalid } from '../values.ts';
import { KEY_TYPES } from './requested-change.ts';

/** A subcommand of `host`. Settings are not inherited from the command. */
export function subcommand(name: string): Command {
  return withSafeErrors(new Command(name), `zerotime host ${name}`);
}

/** A subcommand that opens a region. */
export function onRegion(name: string): Command {
  return subcommand(name)
    .argument('<path>', 'the region')
    .option('--owner <uid>', 'the user that owns the file (default: you)', parseUser);
}

/** What {@link onRegion} parses. */
export interface RegionOptions {
  readonly owner?: number;
}

/** Calls an action with the region at a path, and closes it; reports errors. */
export function withRegion(
  path: string,
  { owner }: RegionOptions,
  action: (region: HostRegion) => void | Promise<void>,
): Promise<void> {
  return report(async () => {
    const region = HostRegion.find(path, owner);
    try {
      await action(region);
    } finally {
      region.close();
    }
  });
}

/** The type of a key, or of several. */
export function keyTypeOption(keys: 'key' | 'keys'): Option {
  return new Option('--key-type <type>', `the type of the ${keys} in the program`)
    .choices(KEY_TYPES)
    .default('string');
}

/** Parses the ID of a user. */
export function parseUser(text: string): number {
  if (/^\d{1,10}$/.test(text)) return Number(text);
  throw invalid('the ID of a user, a whole number, such as 1000');
}

/** Prints lines without control characters. */
export function print(lines: readonly string[]): void {
  process.stdout.write(`${lines.map(printableLine).join('\n')}\n`);
}

/** Prints the error of an action, and makes the command fail. */
export async function report(action: () => void | Promise<void>): Promise<void> {
  try {
    await action();
  } catch (error) {
    printError(error);
    process.exitCode = EXIT.failed;
  }
}
