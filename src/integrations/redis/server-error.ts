import { RateLimitError } from '../../errors.ts';
import { NO_BUCKET } from './script/format.ts';

/** The first word of an error reply, by which servers classify errors. */
const CODE = /^-?([A-Z][A-Z0-9]+)(?= |$)/;
/** Servers before version 7 put an error of a command in a script behind these words. */
const IN_SCRIPT = /@user_script: ?\d+: (.*)/s;
/** The server answers, but cannot serve this key now. */
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

/** The error of a call without an answer, or with one that says that the server cannot serve. */
export function unreachable(message: string, cause?: unknown): RateLimitError {
  return new RateLimitError('ERR_UNREACHABLE', message, cause === undefined ? {} : { cause });
}

export function isUnreachable(error: unknown): error is RateLimitError {
  return error instanceof RateLimitError && error.code === 'ERR_UNREACHABLE';
}

/** The code of an error reply, or undefined if the error is not a reply of the server. */
function codeOf(error: unknown, message: string): string | undefined {
  // The errors of sockets have a `code`; replies have none.
  if (!(error instanceof Error) || 'code' in error || 'syscall' in error) return undefined;
  const [, inner = message] = IN_SCRIPT.exec(message) ?? [];
  const [, code] = CODE.exec(inner) ?? CODE.exec(message) ?? [];
  return code;
}

/** The error of a call that the server answered with an error; undefined if there was no answer. */
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
