import { closeSync, openSync, statSync } from 'node:fs';
import { type Command, InvalidArgumentError } from 'commander';
import { STDOUT } from './output-files.ts';

/** Checks that the path is writable, without changing an existing file. */
export function parseOutputPath(path: string): string {
  if (path === STDOUT) {
    throw new InvalidArgumentError(
      'It must be the path of a writable file, not standard output; ./- is a file with this name.',
    );
  }
  try {
    closeSync(openSync(path, 'a'));
  } catch (error) {
    throw new InvalidArgumentError(
      `It must be the path of a writable file (${(error as Error).message}).`,
    );
  }
  return path;
}

/** The same, or `-` for standard output. */
export function parseOutputPathOrStdout(path: string): string {
  return path === STDOUT ? path : parseOutputPath(path);
}

/**
 * Ends the command with an error if an output would replace another one, or one of the files that
 * it reads.
 */
export function checkOutputs(
  command: Command,
  outputs: Readonly<Record<string, string | undefined>>,
  inputs: readonly string[] = [],
): void {
  const taken = new Map(inputs.map((path) => [fileOf(path), 'an input']));
  for (const [name, path] of Object.entries(outputs)) {
    const key = path === STDOUT ? path : path && fileOf(path);
    if (key === undefined) continue;
    const option = `--${name}`;
    const other = taken.get(key);
    if (other !== undefined) {
      command.error(`error: ${option} would replace ${other}: both are ${path}`);
    }
    taken.set(key, option);
  }
}

/** Identifies a file. Undefined for a device such as /dev/null, which any number may share. */
function fileOf(path: string): string | undefined {
  try {
    const stats = statSync(path, { bigint: true });
    return stats.isFile() ? `${stats.dev}:${stats.ino}` : undefined;
  } catch {
    return undefined; // An input that cannot be read has an error of its own.
  }
}

/** The stream for the summary: standard error if the JSON result goes to standard output. */
export function summaryStream(json: string | undefined): NodeJS.WriteStream {
  return json === STDOUT ? process.stderr : process.stdout;
}
