/** A request or call that took longer than its timeout. */
export const TIMED_OUT = 'timed out';
/** One that was due and never started. */
export const UNSENT = 'unsent';
/** One that was cut because the run was stopped. */
export const INTERRUPTED = 'interrupted';

/** The kinds of requests' errors, as shown to the user. */
const KIND_OF_CODE = new Map([
  ['ECONNREFUSED', 'connection refused'],
  ['ECONNRESET', 'connection reset'],
  ['EPIPE', 'connection reset'],
  ['ERR_CONNECTION_CLOSED', 'connection closed'],
  ['ERR_BAD_RESPONSE', 'bad response'],
  ['ERR_HTTP2_STREAM_CANCEL', 'connection closed'],
  ['ERR_HTTP2_GOAWAY_SESSION', 'connection closed'],
  ['ERR_HTTP2_SESSION_ERROR', 'connection closed'],
  ['ERR_HTTP2_STREAM_ERROR', 'connection reset'],
  // The server sent something other than HTTP/2.
  ['ERR_HTTP2_ERROR', 'bad response'],
  ['ETIMEDOUT', TIMED_OUT],
  ['ENOTFOUND', 'host not found'],
  ['EAI_AGAIN', 'host not found'],
  ['EHOSTUNREACH', 'host unreachable'],
  ['ENETUNREACH', 'host unreachable'],
  ['EMFILE', 'too many open files'],
  ['ENFILE', 'too many open files'],
  ['EADDRNOTAVAIL', 'no free local port'],
]);

// The codes of OpenSSL and node:tls share no prefix.
const TLS_CODE = /^(ERR_TLS|ERR_SSL|CERT_|DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_)|_CERT_|EPROTO/;

/** Classifies a request error. */
export function errorKind(error: unknown): string {
  const { code } = error as { code?: unknown };
  if (typeof code !== 'string') return 'other error';
  return KIND_OF_CODE.get(code) ?? (TLS_CODE.test(code) ? 'TLS error' : 'other error');
}

/** Calls that failed with the same kind of error. */
export interface DriveError {
  /**
   * For a task: the error's name and `code`, if any; `timed out`; `unsent`, due but never started;
   * `interrupted`, in flight a second after the run was stopped; or `thread ended`, in flight when
   * its thread exited. For a target, for example `connection refused`.
   */
  readonly kind: string;
  /** Number of these calls. */
  readonly count: number;
  /** The message of the first one. */
  readonly example: string;
}

/** An error as it is counted. */
export type Failure = Omit<DriveError, 'count'>;

/** A task may invent error kinds. Kinds beyond this number are counted as one. */
const MOST_KINDS = 100;
const OTHER_KINDS = 'other errors';

/** The kind to count an error as, given the kinds counted so far. */
export function kindAmong(known: ReadonlyMap<string, unknown>, kind: string): string {
  return known.has(kind) || known.size < MOST_KINDS ? kind : OTHER_KINDS;
}

/** Adds to the errors of a kind. */
export function addErrors(
  errors: Map<string, DriveError>,
  { kind, count, example }: DriveError,
): void {
  const name = kindAmong(errors, kind);
  const known = errors.get(name) ?? { kind: name, count: 0, example };
  errors.set(name, { ...known, count: known.count + count });
}
