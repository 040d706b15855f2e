import { closeSync, openSync } from 'node:fs';
import { InvalidArgumentError } from 'commander';

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
