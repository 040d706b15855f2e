import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, onTestFinished } from 'vitest';

/** A new folder that goes when `atEnd` says so. */
function newFolder(atEnd: (remove: () => void) => unknown): string {
  const folder = mkdtempSync(join(tmpdir(), 'zerotime-test-'));
  atEnd(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** A new folder that is removed after the tests of the file. */
export function folderOfFile(): string {
  return newFolder(afterAll);
}

/** A new folder that is removed with the test. */
export function folderOfTest(): string {
  return newFolder(onTestFinished);
}

/** Writes a file into a folder, and returns its path. */
export function written(folder: string, name: string, text: string | Uint8Array): string {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
}
