/**
 * The kind of an error, as shown to the user: a request error, or the name of an error thrown by a
 * task.
 */
export type ErrorKind = RequestErrorKind | (string & Record<never, never>);

type RequestErrorKind =
  | 'timed out'
  | 'unsent'
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
