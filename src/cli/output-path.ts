import { closeSync, openSync } from 'node:fs';
import { resolve } from 'node:path';
import { type Command, InvalidArgumentError } from 'commander';
import { STDOUT } from './output-files.ts';

/** Checks that the path is writable, without changing an existing file. */
export function parseOutputPath(path: string): string {
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
  const taken = new Map(inputs.map((path) => [resolve(path), 'an input']));
  for (const [name, path] of Object.entries(outputs)) {
    // Any number of outputs may go to a device such as /dev/null.
    if (path === undefined || path.startsWith('/dev/')) continue;
    const option = `--${name}`;
    const key = path === STDOUT ? path : resolve(path);
    const other = taken.get(key);
    if (other !== undefined) {
      command.error(`error: ${option} would replace ${other}: both are ${path}`);
    }
    taken.set(key, option);
  }
}

/** The stream for the summary: standard error if the JSON result goes to standard output. */
export function summaryStream(json: string | undefined): NodeJS.WriteStream {
  return json === STDOUT ? process.stderr : process.stdout;
}
