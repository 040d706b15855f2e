import { writeFileSync } from 'node:fs';
import { printError } from './safe-text.ts';

/** The path that means standard output. */
export const STDOUT = '-';

/** Writes to a file, or to standard output. */
export function writeOutput(path: string, text: string): void {
  if (path === STDOUT) process.stdout.write(text);
  else writeFileSync(path, text);
}

/** A file to write, if requested. */
interface OutputFile {
  readonly path: string | undefined;
  readonly write: (path: string) => void;
}

/** Writes each file even if others fail. Returns whether all were written. */
export function writeFiles(files: readonly OutputFile[]): boolean {
  let areWritten = true;
  for (const { path, write } of files) {
    if (path === undefined) continue;
    try {
      write(path);
    } catch (error) {
      areWritten = false;
      printError(new Error(`${path} was not written: ${(error as Error).message}`));
    }
  }
  return areWritten;
}
