import { scryptSync } from 'node:crypto';
import { validateHeaderName, validateHeaderValue } from 'node:http';
import type { Header } from './options.ts';

const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
/** The connection sets these. Overriding them would change the meaning of the request. */
const RESERVED_HEADERS = new Set([
  'content-length',
  'expect',
  'keep-alive',
  'transfer-encoding',
  'upgrade',
]);

/** Accepts any HTTP method but CONNECT, which opens a tunnel instead of getting a response. */
export function isMethod(method: string): boolean {
  return TOKEN.test(method) && method.toUpperCase() !== 'CONNECT';
}

/** Whether HTTP allows this name and this value. */
export function isHeader(name: string, value: string): boolean {
  try {
    validateHeaderName(name);
    validateHeaderValue(name, value);
    return true;
  } catch {
    return false;
  }
}

/** Whether the connection itself sets this header. */
export function isReservedHeader(name: string): boolean {
  return RESERVED_HEADERS.has(name.toLowerCase());
}

/** Headers whose values say nothing about a user. */
const HARMLESS = new Set([
  'accept',
  'accept-charset',
  'accept-encoding',
  'accept-language',
  'cache-control',
  'connection',
  'content-encoding',
  'content-language',
  'content-type',
  'dnt',
  'host',
  'if-modified-since',
  'if-unmodified-since',
  'origin',
  'pragma',
  'priority',
  'range',
  'te',
  'upgrade-insecure-requests',
  'user-agent',
  'x-requested-with',
]);
const HASH_BYTES = 4;
/** Some milliseconds a header. */
const COST = { N: 1_024 };

/**
 * Headers that may be stored. The value of any header that is not known to be harmless becomes a
 * hash: it shows whether two runs sent the same value. The hash is short and slow to compute, so
 * that guessing a value from it is expensive and uncertain.
 */
export function safeHeaders(headers: readonly Header[]): readonly Header[] {
  return headers.map(([name, value]) => {
    return [name, isHarmless(name) ? value : `hash:${hashOf(name.toLowerCase(), value)}`];
  });
}

/** Whether the value of this header may be stored. */
export function isHarmless(name: string): boolean {
  return HARMLESS.has(name.toLowerCase());
}

function hashOf(key: string, value: string): string {
  return scryptSync(value, `zerotime:${key}`, HASH_BYTES, COST).toString('hex');
}
