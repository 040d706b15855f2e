import type { Writable } from 'node:stream';

/**
 * The part of a URL that names a user, password included. A colon without a port begins a password,
 * which may have a slash: the URL is then invalid, and the error repeats it.
 */
const CREDENTIALS =
  /([a-z][a-z0-9+.-]*:\/\/)(?:[^\s/'"]*@|(?:[^\s/'":@[]*:(?!\d+(?:[/?#\s'"]|$))|:)[^\s]*@)/gi;
/** Headers to their end: that of the value in commander's error, or of the line. */
const SECRETS = /((?:proxy-)?authorization|cookie)\b\s*[:=]?.*?(?='?(?: is invalid|$))/gim;
/** The same for names that are words as well: a colon says that a header is meant. */
const NAMED_SECRETS =
  /([\w-]*(?:secret|password|apikey|\w[-_](?:token|key|auth))[\w-]*)\s*:.*?(?='?(?: is invalid|$))/gim;
/** The value of any header that commander finds invalid, with or without a colon. */
const INVALID_HEADER = /(--header <name: value>' argument ')([\w-]*)(.*?)(?=' is invalid)/gis;
/** All but tabs and ends of lines. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what must not be printed
const CONTROLS = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g;

/** Headers whose values are secrets, by their names. */
const SECRET_HEADER =
  /^(proxy-)?authorization$|^cookie2?$|secret|password|passwd|credential|api-?key|(^|[-_])(token|key|auth|signature|session|sid)$|token$/i;
const HIDDEN = '***';
/** Of every command. */
const EXIT_FAILED = 1;

/** Text from outside as it may be printed: no passwords, and nothing that steers a terminal. */
export function safeText(text: string): string {
  return printable(text)
    .replace(CREDENTIALS, `$1${HIDDEN}@`)
    .replace(INVALID_HEADER, `$1$2: ${HIDDEN}`)
    .replace(SECRETS, `$1: ${HIDDEN}`)
    .replace(NAMED_SECRETS, `$1: ${HIDDEN}`);
}

/** Shows control characters as `\x1b` instead of sending them to the terminal. */
export function printable(text: string): string {
  return text.replace(CONTROLS, (char) => {
    return `\\x${char.charCodeAt(0).toString(16).padStart(2, '0')}`;
  });
}

/** Headers as they may be stored: without the values that are secrets. */
export function safeHeaders(
  headers: readonly (readonly [string, string])[],
): readonly (readonly [string, string])[] {
  return headers.map(([name, value]) => [name, SECRET_HEADER.test(name) ? HIDDEN : value]);
}

/** For `configureOutput` of commander, whose errors repeat what was typed. */
export const SAFE_OUTPUT = {
  writeErr: (text: string): void => {
    process.stderr.write(safeText(text));
  },
};

/** Writes `error: ...` with the reason. */
export function printError(error: unknown): void {
  const reason = error instanceof Error ? error.message : String(error);
  process.stderr.write(`error: ${safeText(reason)}\n`);
}

/**
 * Lets the command go on to its end where nobody reads its output, or the disk is full.
 *
 * @returns the error for which output is lost, once there is one
 */
export function endQuietly(stream: Writable): () => Error | undefined {
  let failed: Error | undefined;
  stream.on('error', (error) => {
    failed ??= error;
  });
  return () => {
    // The event comes later than the error, which standard output forgets after the event.
    const error: NodeJS.ErrnoException | undefined = failed ?? stream.errored ?? undefined;
    // A reader that closes the pipe, such as `head`, has read enough.
    return error?.code === 'EPIPE' ? undefined : error;
  };
}

/** To be called at the exit: a command whose output is lost must not look like a success. */
export function failIfLost(error: Error | undefined): void {
  if (error === undefined) return;
  printError(new Error(`standard output was not written: ${error.message}`));
  process.exitCode ||= EXIT_FAILED;
}
