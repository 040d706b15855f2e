import { type Dirent, readdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { setTimeout as after } from 'node:timers/promises';
import { Command } from 'commander';
import { platform } from '../../host/native.ts';
import { removeRegion } from '../../host/region-header.ts';
import { Interrupt } from '../load/keys.ts';
import { withSafeErrors } from '../output.ts';
import { parseDuration } from '../values.ts';
import { keysCommand } from './keys.ts';
import { operatorCommands } from './operator.ts';
import { serveCommand } from './serve/command.ts';
import {
  onRegion,
  print,
  type RegionOptions,
  report,
  subcommand,
  withRegion,
} from './subcommand.ts';
import { listed, shownRegion } from './summary.ts';

const FOLDER = platform.folder;
const WATCH_MS = 1000;

const NOTES = `
PATH is the file of a region; a name without a slash refers to ${FOLDER}. NAME is that of a limiter.

Exit code: 0 if all is well; 1 if the region cannot be opened, or is in use, or if a change is
invalid. Nothing is changed then.

Examples:
  zerotime host ls
  zerotime host show my-service --watch
  zerotime host set my-service api rate=50 burst=10
  zerotime host block my-service 'per user' ann 10m
  zerotime host keys my-service 'per user' --top 5
  zerotime host log my-service
  zerotime host serve my-service
  zerotime host rm my-service
`;

/** The subcommand `host`. */
export function hostCommand(): Command {
  const command = withSafeErrors(new Command('host'), 'zerotime host', 'commands')
    .description('Inspect, change and remove the regions that processes of this machine share.')
    .addCommand(
      subcommand('ls')
        .description('list the regions in a folder')
        .argument('[folder]', 'the folder', FOLDER)
        .action((folder: string) => report(() => list(folder))),
    )
    .addCommand(
      onRegion('show')
        .description('show the limiters and processes of a region')
        .option('-w, --watch [time]', 'repeat at this interval (default: 1s)', (text) =>
          parseDuration(text),
        )
        .action(show),
    )
    .addCommand(
      onRegion('rm')
        .description('remove a region that no process has open')
        .option(
          '-f, --force',
          'remove it even if processes have it open; they keep their mapping',
          false,
        )
        .action((path: string, { force, owner }: RegionOptions & { force: boolean }) =>
          report(() => removeRegion(path, { isForced: force, owner })),
        ),
    )
    .addHelpText('after', NOTES);
  for (const each of [...operatorCommands(), keysCommand(), serveCommand()])
    command.addCommand(each);
  return command;
}

interface ShowOptions extends RegionOptions {
  readonly watch?: number | true;
}

function list(folder: string): void {
  const files = entriesOf(folder).filter((entry) => entry.isFile());
  const regions = files.flatMap(({ name }) => listed(join(resolve(folder), name)));
  print(regions.length === 0 ? [`${resolve(folder)}: 0 regions`] : regions);
}

function entriesOf(folder: string): Dirent[] {
  try {
    return readdirSync(folder, { withFileTypes: true });
  } catch (error) {
    throw new Error(`${folder} cannot be listed: ${(error as Error).message}`);
  }
}

function show(path: string, options: ShowOptions): Promise<void> {
  const everyMs = options.watch === true ? WATCH_MS : options.watch;
  return withRegion(path, options, async (region) => {
    let isRead = true;
    process.stdout.once('error', () => {
      isRead = false;
    });
    if (everyMs === undefined) return print(shownRegion(region));
    // A process that a signal ends without closing the region counts as crashed.
    const interrupt = new Interrupt();
    const { signal } = interrupt;
    try {
      while (isRead && !signal.aborted) {
        // Redraw from the top left corner of a terminal.
        if (process.stdout.isTTY) process.stdout.write('\x1b[H\x1b[J');
        print(shownRegion(region));
        await after(everyMs, undefined, { signal }).catch(() => undefined); // interrupted
      }
    } finally {
      interrupt.dispose();
    }
  });
}
