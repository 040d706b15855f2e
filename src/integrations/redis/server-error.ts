import { RateLimitError, type RateLimitErrorCode } from '../../errors.ts';
import { NO_BUCKET } from './script/format.ts';

/** The first word of an error reply, which is its code. */
const CODE = /^-?([A-Z][A-Z0-9]+)(?= |$)/;
/** Before version 7, servers prefix errors of commands in scripts with this. */
const IN_SCRIPT = /@user_script: ?\d+: (.*)/s;
/** Codes with which a server says that it cannot serve the key now. */
const UNABLE: readonly string[] = [
  'ASK',
  'BUSY',
  'CLUSTERDOWN',
  'LOADING',
  'MASTERDOWN',
  'MISCONF',
  'MOVED',
  'NOREPLICAS',
  'OOM',
  'READONLY',
  'TRYAGAIN',
];
const TOO_MANY_CLIENTS = /max(imum)? number of clients/;

/** The error of a call that got no answer, or that the server cannot serve now. */
export function unreachable(message: string, cause?: unknown): RateLimitError {
  return new RateLimitError('ERR_UNREACHABLE', message, cause === undefined ? {} : { cause });
}

export function hasCode(
  error: unknown,
  ...codes: readonly RateLimitErrorCode[]
): error is RateLimitError {
  return error instanceof RateLimitError && codes.includes(error.code);
}

export function isUnreachable(error: unknown): error is RateLimitError {
  return hasCode(error, 'ERR_UNREACHABLE');
}

/** The error of a call with an answer that the script never gives. */
export function unexpectedAnswer(): RateLimitError {
  return new RateLimitError('ERR_COMMAND_FAILED', 'the server gave an unexpected answer');
}

/** The code of an error reply; undefined if the error is not a reply. */
function codeOf(error: unknown, message: string): string | undefined {
  // Socket errors have a `code`, replies don't.
  if (!(error instanceof Error) || 'code' in error || 'syscall' in error) return undefined;
  const [, inner = message] = IN_SCRIPT.exec(message) ?? [];
  const [, code] = CODE.exec(inner) ?? CODE.exec(message) ?? [];
  return code;
}

/** Converts an error reply; undefined if the server did not reply. */
export function replyError(error: unknown): RateLimitError | undefined {
  const message = error instanceof Error ? error.message : String(error);
  const code = codeOf(error, message);
  if (code === undefined) return undefined;
  const options = { cause: error };
  if (code === NO_BUCKET || code === 'WRONGTYPE') {
    const text = 'the key holds something that is not a bucket';
    return new RateLimitError('ERR_KEY_INVALID', text, options);
  }
  if (UNABLE.includes(code) || TOO_MANY_CLIENTS.test(message)) {
    return unreachable(`the server cannot serve the call: ${message}`, error);
  }
  const text = `the server answered with an error: ${message}`;
  return new RateLimitError('ERR_COMMAND_FAILED', text, options);
}
