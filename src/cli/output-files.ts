import { printError } from './safe-text.ts';

/** A file to write, if it was asked for. */
interface OutputFile {
  readonly path: string | undefined;
  readonly write: (path: string) => void;
}

/** Writes each file, whatever becomes of the others. Returns whether all are written. */
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
