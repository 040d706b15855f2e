import { checkOptions, type Known } from '../../known-options.ts';
import { checkNumber, checkObject, shown } from '../../options.ts';
import type { Header, LoadOptions } from '../options.ts';
import { isHeader, isMethod, isReservedHeader } from '../request-rules.ts';
import { checkTransport } from './check-transport.ts';
import type { HttpTarget } from './drive-options.ts';

const KNOWN: Known<HttpTarget> = {
  url: true,
  method: true,
  headers: true,
  body: true,
  connections: true,
  http2: true,
  socketPath: true,
  tls: true,
};
const DEFAULT_CONNECTIONS = 64;
const MOST_CONNECTIONS = 65_536;

/** The options of a run that describe requests. */
export type RequestOptions = Pick<
  LoadOptions,
  'url' | 'method' | 'headers' | 'body' | 'connections' | 'transport'
>;

/** The same for a run that sends no requests. */
export function noRequests(threads: number): RequestOptions {
  return { url: undefined, method: 'GET', headers: [], body: undefined, connections: threads };
}

/** Checks a target. */
export function checkTarget(target: HttpTarget, threads: number): RequestOptions {
  const { url, headers, method, body, connections, ...rest } = checkOptions(
    target,
    KNOWN,
    'target',
  );
  const content = checkBody(body);
  const address = checkUrl(url);
  const transport = checkTransport(rest, address);
  const usual = transport?.http2 === true ? threads : Math.max(DEFAULT_CONNECTIONS, threads);
  return {
    url: address,
    method: checkMethod(method ?? (content === undefined ? 'GET' : 'POST')),
    headers: checkHeaders(headers ?? {}),
    body: content,
    connections: checkNumber('target.connections', connections ?? usual, {
      min: threads,
      max: MOST_CONNECTIONS,
      integer: true,
    }),
    transport,
  };
}

function checkUrl(value: unknown): string {
  const text = value instanceof URL ? value.href : value;
  const url = typeof text === 'string' && URL.canParse(text) ? new URL(text) : undefined;
  if (url?.protocol !== 'http:' && url?.protocol !== 'https:') {
    throw new TypeError(`target.url must be an absolute http or https URL, got ${shown(text)}`);
  }
  if (url.username !== '' || url.password !== '') {
    // Omit the value: it contains the password.
    throw new TypeError(
      'target.url must not contain a user name: use a header, such as Authorization',
    );
  }
  return url.href;
}

function checkMethod(method: unknown): string {
  if (typeof method !== 'string' || !isMethod(method)) {
    throw new TypeError(
      `target.method must be an HTTP method other than CONNECT, got ${shown(method)}`,
    );
  }
  return method.toUpperCase();
}

function checkHeaders(headers: unknown): Header[] {
  return Object.entries(checkObject('target.headers', headers as object)).map(([name, value]) => {
    if (typeof value !== 'string' || !isHeader(name, value)) {
      // Omit the value: it may be a password.
      throw new TypeError(`target.headers must be valid HTTP headers, got ${shown(name)}`);
    }
    if (isReservedHeader(name)) {
      throw new TypeError(
        `target.headers must not contain ${name.toLowerCase()}, which the connection sets`,
      );
    }
    return [name, value] as const;
  });
}

function checkBody(body: unknown): Uint8Array | undefined {
  if (body === undefined || body instanceof Uint8Array) return body;
  if (typeof body === 'string') return new TextEncoder().encode(body);
  throw new TypeError(`target.body must be a string or a Uint8Array, got ${shown(body)}`);
}
