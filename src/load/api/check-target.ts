import { X509Certificate } from 'node:crypto';
import { createSecureContext } from 'node:tls';
import { checkOptions, type Known } from '../../known-options.ts';
import { checkFlag, checkNumber, checkObject, shown } from '../../options.ts';
import type { HttpTarget, TargetTls } from '../plan/drive-options.ts';
import { isHeader, isMethod, isReservedHeader } from '../plan/headers.ts';
import { OPTION_GROUPS } from '../plan/option-table.ts';
import type { Header, LoadOptions, RequestOptions, TlsTerms, Transport } from '../plan/options.ts';

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
/** Unless there are more threads. */
const DEFAULT_CONNECTIONS = 64;

/** The options of a run that sends no requests. */
export function noRequests(threads: number): Pick<LoadOptions, keyof RequestOptions> {
  return { url: undefined, method: 'GET', headers: [], body: undefined, connections: threads };
}

/** Checks a target. */
export function checkTarget(target: HttpTarget, threads: number): RequestOptions {
  const { url, headers = {}, body, ...others } = checkOptions(target, KNOWN, 'target');
  const address = checkUrl(url);
  const transport = checkTransport(target, address);
  const usual = transport?.http2 === true ? threads : Math.max(DEFAULT_CONNECTIONS, threads);
  const { method = body === undefined ? 'GET' : 'POST', connections = usual } = others;
  return {
    url: address,
    method: checkMethod(method),
    headers: checkHeaders(headers),
    body: checkBody(body),
    connections: checkConnections(connections, threads),
    transport,
  };
}

function checkConnections(connections: number, threads: number): number {
  const { range } = OPTION_GROUPS.Requests.connections.value;
  const { min, max } = range;
  checkNumber('target.connections', connections, { min, max, integer: true });
  if (connections >= threads) return connections;
  throw new RangeError(
    `target.connections must be at least ${threads}, one for each thread, got ${connections}`,
  );
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
  const fields = checkObject('target.headers', headers as object);
  if (Symbol.iterator in fields) {
    // Such as Headers or a Map, whose entries are no properties: they would not be sent.
    throw new TypeError(
      'target.headers must be an object with a property for each header, as by ' +
        `Object.fromEntries, got ${shown(headers)}`,
    );
  }
  return Object.entries(fields).map(([name, value]) => {
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

const KNOWN_TLS: Known<TargetTls> = {
  insecure: true,
  cert: true,
  key: true,
  ca: true,
  servername: true,
};

/** Checks how to connect to a target; undefined for HTTP/1.1 over TCP with the usual TLS. */
function checkTransport(
  { http2, socketPath, tls }: Pick<HttpTarget, 'http2' | 'socketPath' | 'tls'>,
  url: string,
): Transport | undefined {
  const transport = {
    socketPath: checkSocketPath(socketPath),
    http2: http2 === undefined ? undefined : checkFlag('target.http2', http2, false),
    tls: tls === undefined ? undefined : checkTls(tls, url),
  };
  return Object.values(transport).every((term) => term === undefined) ? undefined : transport;
}

function checkSocketPath(path: unknown): string | undefined {
  if (path === undefined || (typeof path === 'string' && path !== '')) return path;
  throw new TypeError(`target.socketPath must be the path of a socket, got ${shown(path)}`);
}

function checkTls(given: TargetTls, url: string): TlsTerms {
  const { insecure, cert, key, ca, servername } = checkOptions(given, KNOWN_TLS, 'target.tls');
  if (!url.startsWith('https:')) throw new TypeError('target.tls needs an https URL');
  if ((cert === undefined) !== (key === undefined)) {
    const [one, other] = cert === undefined ? ['key', 'cert'] : ['cert', 'key'];
    throw new TypeError(`target.tls.${one} needs target.tls.${other}`);
  }
  const terms = {
    insecure:
      insecure === undefined ? undefined : checkFlag('target.tls.insecure', insecure, false),
    cert: checkPem('cert', cert),
    key: checkPem('key', key),
    ca: checkPem('ca', ca),
    servername: checkServername(servername),
  };
  if (terms.insecure === true && terms.ca !== undefined) {
    throw new TypeError(
      'target.tls.ca cannot be used with target.tls.insecure: it accepts any certificate',
    );
  }
  const { ca: authorities } = terms;
  usable('target.tls.cert and target.tls.key', () =>
    createSecureContext({ cert: terms.cert, key: terms.key }),
  );
  // A context ignores authorities that it can't parse.
  usable('target.tls.ca', () => authorities && new X509Certificate(authorities));
  return terms;
}

/** Errors leave out the value, which may be a private key. */
function checkPem(name: string, value: unknown): string | undefined {
  if (value === undefined) return undefined;
  const text = value instanceof Uint8Array ? new TextDecoder().decode(value) : value;
  if (typeof text === 'string' && text.includes('-----BEGIN ')) return text;
  throw new TypeError(`target.tls.${name} must be text in PEM, which begins with -----BEGIN`);
}

const SERVERNAME = /^[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?(\.[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?)*\.?$/i;
const LONGEST_NAME = 253;

function checkServername(name: unknown): string | undefined {
  if (name === undefined) return undefined;
  if (typeof name === 'string' && SERVERNAME.test(name) && name.length <= LONGEST_NAME) return name;
  throw new TypeError(`target.tls.servername must be the name of a host, got ${shown(name)}`);
}

function usable(names: string, use: () => unknown): void {
  try {
    use();
  } catch (error) {
    const { message } = error as Error;
    throw new TypeError(`${names} cannot be used: ${message}`, { cause: error });
  }
}
