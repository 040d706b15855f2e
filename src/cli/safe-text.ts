import type { Writable } from 'node:stream';
import { HIDDEN } from '../load/safe-headers.ts';

/**
 * The user name and password of a URL. A password with a slash makes the URL invalid, and
 * commander's error repeats it: treat a colon without a port as the start of a password.
 */
const CREDENTIALS =
  /([a-z][a-z0-9+.-]*:\/\/)(?:[^\s/'"]*@|(?:[^\s/'":@[]*:(?!\d+(?:[/?#\s'"]|$))|:)[^\s]*@)/gi;
/** Secret headers, up to the end of the value in commander's error or of the line. */
const SECRETS = /((?:proxy-)?authorization|cookie)\b\s*[:=]?.*?(?='?(?: is invalid|$))/gim;
/** The same for names that are also words: only a colon marks them as headers. */
const NAMED_SECRETS =
  /([\w-]*(?:secret|password|apikey|\w[-_](?:token|key|auth))[\w-]*)\s*:.*?(?='?(?: is invalid|$))/gim;
/** The value of a header that commander rejects, with or without a colon. */
const INVALID_HEADER = /(--header <name: value>' argument ')([\w-]*)(.*?)(?=' is invalid)/gis;
/** Control characters except tab and newline. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they must not be printed
const CONTROLS = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g;

/** The exit code of all commands for a failure. */
const EXIT_FAILED = 1;

/** Makes external text safe to print: removes passwords and control characters. */
export function safeText(text: string): string {
  return printable(text)
    .replace(CREDENTIALS, `$1${HIDDEN}@`)
    .replace(INVALID_HEADER, `$1$2: ${HIDDEN}`)
    .replace(SECRETS, `$1: ${HIDDEN}`)
    .replace(NAMED_SECRETS, `$1: ${HIDDEN}`);
}

/** Escapes control characters, as in `\x1b`. */
export function printable(text: string): string {
  return text.replace(CONTROLS, (char) => {
    return `\\x${char.charCodeAt(0).toString(16).padStart(2, '0')}`;
  });
}

/** For commander's `configureOutput`: its errors repeat the user's input. */
export const SAFE_OUTPUT = {
  writeErr: (text: string): void => {
    process.stderr.write(safeText(text));
  },
};

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
  process.exitCode ||= EXIT_FAILED;
}
