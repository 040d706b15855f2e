import { validateHeaderName, validateHeaderValue } from 'node:http';

const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
/**
 * Undici sets these for the connection. Overriding them would change the meaning of the request.
 */
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
