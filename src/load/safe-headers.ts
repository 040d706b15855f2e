import type { Header } from './options.ts';

/** Names of headers whose values are secrets. */
const SECRET_HEADER =
  /^(proxy-)?authorization$|^cookie2?$|secret|password|passwd|credential|api-?key|(^|[-_])(token|key|auth|signature|session|sid)$|token$/i;
/** Replaces a secret. */
export const HIDDEN = '***';

/** Headers that may be stored: without secret values. */
export function safeHeaders(headers: readonly Header[]): readonly Header[] {
  return headers.map(([name, value]) => [name, SECRET_HEADER.test(name) ? HIDDEN : value]);
}
