import { closeSync, openSync } from 'node:fs';
import { InvalidArgumentError } from 'commander';
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

/** The stream for the summary: standard error if the JSON result goes to standard output. */
export function summaryStream(json: string | undefined): NodeJS.WriteStream {
  return json === STDOUT ? process.stderr : process.stdout;
}
