/**
 * The part of a URL that names a user, password included. A colon without a port begins a password,
 * which may have a slash: the URL is then invalid, and the error repeats it.
 */
const CREDENTIALS =
  /([a-z][a-z0-9+.-]*:\/\/)(?:[^\s/'"]*@|(?:[^\s/'":@[]*:(?!\d+(?:[/?#\s'"]|$))|:)[^\s]*@)/gi;
/** Headers to their end: that of the value in commander's error, or of the line. */
const SECRETS = /((?:proxy-)?authorization|cookie)\b\s*[:=]?.*?(?='?(?: is invalid|$))/gim;
/** All but tabs and ends of lines. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what must not be printed
const CONTROLS = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g;

/** Headers whose values are secrets. */
const SECRET_HEADERS = new Set(['authorization', 'proxy-authorization', 'cookie']);
const HIDDEN = '***';

/** Text from outside as it may be printed: no passwords, and nothing that steers a terminal. */
export function safeText(text: string): string {
  return printable(text).replace(CREDENTIALS, `$1${HIDDEN}@`).replace(SECRETS, `$1: ${HIDDEN}`);
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
  return headers.map(([name, value]) => [
    name,
    SECRET_HEADERS.has(name.toLowerCase()) ? HIDDEN : value,
  ]);
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

/** Lets the command go on to its end where nobody reads its output, or the disk is full. */
export function endQuietly(streams: readonly NodeJS.WritableStream[]): void {
  for (const stream of streams) stream.on('error', () => undefined);
}
