/** The kind of a request's error, as shown to the user. */
type RequestErrorKind =
  | 'timed out'
  | 'unsent'
  | 'interrupted'
  | 'connection refused'
  | 'connection reset'
  | 'connection closed'
  | 'bad response'
  | 'host not found'
  | 'host unreachable'
  | 'TLS error'
  | 'too many open files'
  | 'no free local port'
  | 'other error';

const KIND_OF_CODE = new Map<string, RequestErrorKind>([
  ['ECONNREFUSED', 'connection refused'],
  ['ECONNRESET', 'connection reset'],
  ['EPIPE', 'connection reset'],
  ['UND_ERR_SOCKET', 'connection closed'],
  ['UND_ERR_RES_CONTENT_LENGTH_MISMATCH', 'bad response'],
  ['UND_ERR_HEADERS_OVERFLOW', 'bad response'],
  ['UND_ERR_CONNECT_TIMEOUT', 'timed out'],
  ['ERR_HTTP2_STREAM_CANCEL', 'connection closed'],
  ['ERR_HTTP2_GOAWAY_SESSION', 'connection closed'],
  ['ERR_HTTP2_SESSION_ERROR', 'connection closed'],
  ['ERR_HTTP2_STREAM_ERROR', 'connection reset'],
  // The server sent something other than HTTP/2.
  ['ERR_HTTP2_ERROR', 'bad response'],
  ['ETIMEDOUT', 'timed out'],
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
export function errorKind(error: unknown): RequestErrorKind {
  const { code, name } = error as { code?: unknown; name?: unknown };
  // Undici sets a code for some malformed responses only.
  if (name === 'HTTPParserError') return 'bad response';
  if (typeof code !== 'string') return 'other error';
  const known = KIND_OF_CODE.get(code);
  if (known !== undefined) return known;
  if (TLS_CODE.test(code)) return 'TLS error';
  return 'other error';
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
