import { closeSync, openSync } from 'node:fs';
import { InvalidArgumentError } from 'commander';
import { STDOUT } from './output-files.ts';

/**
 * Checks that the path is writable, and keeps an existing file unchanged until there is a result.
 */
export function parseOutputPath(path: string): string {
  try {
    closeSync(openSync(path, 'a'));
  } catch (error) {
    throw new InvalidArgumentError(
      `It must be the path of a file that can be written (${(error as Error).message}).`,
    );
  }
  return path;
}

/** The same, or `-` for standard output. */
export function parseOutputPathOrStdout(path: string): string {
  return path === STDOUT ? path : parseOutputPath(path);
}

/** Where the summary goes: standard output belongs to a result that is written to it. */
export function summaryStream(json: string | undefined): NodeJS.WriteStream {
  return json === STDOUT ? process.stderr : process.stdout;
}
