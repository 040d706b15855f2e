import { randomUUID } from 'node:crypto';
import {
  chmodSync,
  chownSync,
  constants,
  lstatSync,
  readlinkSync,
  realpathSync,
  renameSync,
  rmSync,
  type Stats,
  statSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import type { Writable } from 'node:stream';
import type { Command } from 'commander';
import { safeData, safeText } from '../load/plan/redact.ts';
import { InterruptedError } from '../load/threads/thread-handle.ts';
import { columnsFor, type Paint, paintFor } from './terminal.ts';
import { checkFile, invalid, readable, STANDARD } from './values.ts';

/** The exit codes of all commands. */
export const EXIT = {
  ok: 0,
  /** Nothing succeeded, a thread crashed, the command line was invalid, or output was lost. */
  failed: 1,
  guaranteeBroken: 2,
  gateFailed: 3,
  /** 128 + the number of SIGINT, as in shells. */
  interrupted: 130,
} as const;

/**
 * Makes the errors of a command safe to print, since they repeat the user's input, and lets them
 * name the help. A subcommand inherits neither.
 *
 * @param path how to call the command
 */
export function withSafeErrors<C extends Command>(command: C, path: string, lists = 'options'): C {
  return command
    .configureOutput({
      writeErr: (text) => {
        process.stderr.write(safeText(text));
      },
    })
    .showHelpAfterError(`(${path} --help shows all ${lists})`);
}

/** Writes `error: ` and the reason to standard error. */
export function printError(error: unknown): void {
  const reason = error instanceof Error ? error.message : String(error);
  process.stderr.write(`error: ${safeText(reason)}\n`);
}

/**
 * Lets the command finish even if its output can't be written.
 *
 * @returns the error that lost output, if any
 */
export function endQuietly(stream: Writable): () => Error | undefined {
  let failed: Error | undefined;
  stream.on('error', (error) => {
    failed ??= error;
  });
  return () => {
    // The event comes after the error is set; standard output clears the error after the event.
    const error: NodeJS.ErrnoException | undefined = failed ?? stream.errored ?? undefined;
    // EPIPE is no failure: a reader such as `head` has read enough.
    return error?.code === 'EPIPE' ? undefined : error;
  };
}

/** Call on exit: a command that lost output must not report success. */
export function failIfLost(error: Error | undefined): void {
  if (error === undefined) return;
  printError(new Error(`standard output was not written: ${error.message}`));
  process.exitCode ||= EXIT.failed;
}

/** The options that name an output. */
const OUTPUTS = ['json', 'hgrm', 'svg', 'report'] as const;
type OutputName = (typeof OUTPUTS)[number];
/** The paths to write to. */
type Outputs = { readonly [Name in OutputName]?: string | undefined };
/** What to write to each. */
type Texts = { readonly [Name in OutputName]?: () => string };

/** What a command makes of its result. */
interface Delivery<Result> {
  /** If the JSON goes to standard output, the summary goes to standard error. */
  readonly outputs: Outputs;
  readonly run: () => Result | Promise<Result>;
  readonly summary: (result: Result, paint: Paint, columns: number) => string[];
  readonly files: (result: Result) => Texts;
  readonly exitCode: (result: Result) => number;
}

/** Runs a command, prints and writes its result, and returns the exit code. */
export async function deliver<Result>(delivery: Delivery<Result>): Promise<number> {
  const { outputs, run, summary, files, exitCode } = delivery;
  const stream = outputs.json === STANDARD ? process.stderr : process.stdout;
  try {
    const result = await run();
    const lines = summary(result, paintFor(stream), columnsFor(stream));
    stream.write(`${lines.join('\n')}\n`);
    const areWritten = writeFiles(outputs, files(result));
    return exitCode(result) || (areWritten ? EXIT.ok : EXIT.failed);
  } catch (error) {
    printError(error);
    return error instanceof InterruptedError ? EXIT.interrupted : EXIT.failed;
  }
}

/** Writes each requested file even if others fail. Returns whether all were written. */
export function writeFiles(outputs: Outputs, texts: Texts): boolean {
  let areWritten = true;
  for (const name of OUTPUTS) {
    const [path, textOf] = [outputs[name], texts[name]];
    if (path === undefined || textOf === undefined) continue;
    try {
      const text = textOf();
      if (path === STANDARD) process.stdout.write(text);
      else writeWhole(path, text);
    } catch (error) {
      areWritten = false;
      printError(new Error(`${path} was not written: ${(error as Error).message}`));
    }
  }
  return areWritten;
}

/** Errors that mean that no new file may take the place of this one, with its owner. */
const MUST_STAY = new Set(['EACCES', 'EPERM', 'EROFS', 'EBUSY']);
/** Paths of open files, such as /dev/stdout. Others have them open: they cannot be replaced. */
const DESCRIPTOR = /^\/(dev\/(fd|std)|proc\/)/;

/** Whether a path, or a link on the way from it to the file, is that of an open file. */
function isOpenFile(path: string): boolean {
  const here = join(realpathSync(dirname(path)), basename(path));
  if (DESCRIPTOR.test(path) || DESCRIPTOR.test(here)) return true;
  if (!lstatSync(here).isSymbolicLink()) return false;
  return isOpenFile(resolve(dirname(here), readlinkSync(here)));
}

/** Writes a file. If that fails, as on a full disk, leaves what was there. */
function writeWhole(path: string, text: string): void {
  const old = statSync(path, { throwIfNoEntry: false });
  const isNew = lstatSync(path, { throwIfNoEntry: false }) === undefined;
  const isAlone = old?.isFile() && old.nlink === 1 && !isOpenFile(path);
  if (!isNew && !isAlone) {
    writeFileSync(path, text);
    return;
  }
  try {
    replace(isNew ? path : realpathSync(path), text, old);
  } catch (error) {
    if (isNew || !MUST_STAY.has((error as NodeJS.ErrnoException).code ?? '')) throw error;
    writeFileSync(path, text);
  }
}

/** Writes a file beside `path` that takes its place. */
function replace(path: string, text: string, old?: Stats): void {
  const beside = join(dirname(path), `.zerotime-${randomUUID()}.tmp`);
  try {
    writeFileSync(beside, text, { flag: 'wx' });
    if (old !== undefined) {
      chownSync(beside, old.uid, old.gid);
      chmodSync(beside, old.mode & 0o777);
    }
    renameSync(beside, path);
  } catch (error) {
    rmSync(beside, { force: true });
    throw error;
  }
}

/** Plain data as JSON, without secrets. */
export function jsonText(data: object): string {
  return `${JSON.stringify(safeData(data), undefined, 2)}\n`;
}

/** Checks that the path is writable. Creates no file: the command may end without a result. */
export function parseOutputPath(path: string): string {
  const wanted = 'the path of a writable file';
  if (path === STANDARD) {
    throw invalid(`${wanted}, not standard output; ./- is a file with this name`);
  }
  readable(wanted, () => checkFile(path, constants.W_OK));
  return path;
}

/** The same, or `-` for standard output. */
export function parseOutputPathOrStdout(path: string): string {
  return path === STANDARD ? path : parseOutputPath(path);
}

/**
 * Ends the command with an error if an output would replace another one, or one of the files that
 * it reads.
 */
export function checkOutputs(
  command: Command,
  outputs: Outputs,
  inputs: readonly string[] = [],
): void {
  const taken = new Map(inputs.map((path) => [fileOf(path), 'an input']));
  for (const name of OUTPUTS) {
    const path = outputs[name];
    const key = path === STANDARD ? path : path && fileOf(path);
    if (key === undefined) continue;
    const option = `--${name}`;
    const other = taken.get(key);
    if (other !== undefined) {
      command.error(`error: ${option} would replace ${other}: both are ${path}`);
    }
    taken.set(key, option);
  }
}

/**
 * Identifies a file, which may not exist yet. Undefined for a device such as /dev/null, which any
 * number may share.
 */
function fileOf(path: string): string | undefined {
  try {
    const stats = statSync(path, { bigint: true, throwIfNoEntry: false });
    if (stats === undefined) return join(realpathSync(dirname(path)), basename(path));
    return stats.isFile() ? `${stats.dev}:${stats.ino}` : undefined;
  } catch {
    return undefined; // An input that cannot be read has an error of its own.
  }
}
