import type { EventEmitter } from 'node:events';
import { connect as connectTcp, isIP, type OnReadOpts, type Socket } from 'node:net';
import { type ConnectionOptions, connect as connectTls, createSecureContext } from 'node:tls';
import type { Failure } from '../measure/errors.ts';
import type { RequestOptions } from '../plan/options.ts';

/**
 * How an exchange ended: the status of the response or why there is none; of a call, nothing or its
 * failure.
 */
export type Outcome = number | Error | Failure | undefined;

/** An error of a connection, which its code classifies. */
export function coded(code: string, message: string): Error {
  return Object.assign(new Error(message), { code });
}

/** A request and its response. */
export interface HttpExchange {
  /** Call with the outcome. Only the first one counts. */
  end(outcome: Outcome): void;
}

/** The same, or a call of a task. */
export interface Exchange extends HttpExchange {
  readonly dueUs: number;
  readonly startedUs: number;
}

/** Ends an exchange that has failed: it has timed out, or the run is stopped. */
export type Abandon = (why: DOMException) => void;

/** Carries exchanges: an HTTP/1.1 connection, an HTTP/2 session, or a thread's calls of a task. */
export interface Carrier {
  /** Sends the request or makes the call. The exchange may end before this returns. */
  dispatch(exchange: Exchange): Abandon | undefined;
}

/** The carriers of a thread. They have room for a limited number of exchanges. */
export interface Carriers {
  /** The most exchanges that they have room for: of HTTP/2, as many as the server allows. */
  readonly capacity: number;
  /** Why exchanges for which there was no room are dropped. */
  readonly noRoom: string;
  /** What an exchange has done that took longer than the timeout, which follows. */
  readonly tooLong: string;
  /** Whether `dispatch` may block the thread, and with it all timers, as calls of a task do. */
  readonly mayBlock?: boolean;
  /** A carrier with room for one more exchange; undefined if all are busy. */
  take(): Carrier | undefined;
  /** Releases the room of an exchange. */
  give(carrier: Carrier): void;
  /** A rejection reports a failed teardown; the results stay valid. */
  close(): void | Promise<void>;
}

/** What requests without a complete response have done. */
export const NO_RESPONSE = 'no complete response within';

/**
 * Resolves once a connection is open, has ended or has taken too long, which ends it. Never rejects:
 * after a failure, the first request tries again and counts the outcome.
 *
 * @param event emitted when it is open
 */
export function untilOpen(
  connection: EventEmitter & { destroy(): unknown },
  event: string,
  timeoutMs: number,
): Promise<void> {
  return new Promise((resolve) => {
    const settle = () => {
      clearTimeout(timer);
      connection.off(event, settle).off('close', settle);
      resolve();
    };
    const timer = setTimeout(() => {
      connection.destroy();
      settle();
    }, timeoutMs);
    connection.on(event, settle).on('close', settle);
  });
}

/** A host without the brackets of an IPv6 address. */
function bare(hostname: string): string {
  return hostname.replace(/^\[|\]$/g, '');
}

/**
 * The name of a host for the TLS handshake; empty for an address, which TLS does not allow, and for
 * a Host header that names no host.
 */
function servernameOf(host: string): string {
  const url = `http://${host}`;
  const name = URL.canParse(url) ? bare(new URL(url).hostname) : '';
  return isIP(name) === 0 ? name : '';
}

/** What all connections of a thread to its target have in common. */
export interface ConnectTerms {
  readonly url: URL;
  /** The Host header of the requests. */
  readonly host: string;
  readonly socketPath: string | undefined;
  /** Options of `tls.connect`. */
  readonly tls: Pick<ConnectionOptions, 'servername' | 'rejectUnauthorized' | 'secureContext'>;
}

/** @throws Error if a certificate or key can't be parsed, or the two don't match */
export function connectTerms({
  headers,
  transport: { socketPath, tls = {} } = {},
  ...requests
}: Pick<RequestOptions, 'url' | 'headers' | 'transport'>): ConnectTerms {
  const url = new URL(requests.url);
  const host = headers.find(([name]) => name.toLowerCase() === 'host')?.[1] ?? url.host;
  const { insecure, servername = servernameOf(host), cert, key, ca } = tls;
  const isDefault = cert === undefined && key === undefined && ca === undefined;
  return {
    url,
    host,
    socketPath,
    tls: {
      servername,
      ...(insecure === true && { rejectUnauthorized: false }),
      // Created once, so that connections don't parse all certificates again.
      ...(!isDefault && { secureContext: createSecureContext({ cert, key, ca }) }),
    },
  };
}

/** The headers to send besides Host. */
export function ownHeaders(headers: RequestOptions['headers']): RequestOptions['headers'] {
  const own = headers.filter(([name]) => name.toLowerCase() !== 'host');
  const isNamed = own.some(([name]) => name.toLowerCase() === 'user-agent');
  return isNamed ? own : [['user-agent', 'zerotime-load'], ...own];
}

/** Connects to a server: over TCP, TLS or a Unix domain socket. */
export function connectTo(
  { url: { protocol, hostname, port }, socketPath, tls }: ConnectTerms,
  handshake: Pick<ConnectionOptions, 'ALPNProtocols' | 'session'>,
  onread?: OnReadOpts,
): Socket {
  const isSecure = protocol === 'https:';
  const to = {
    host: bare(hostname),
    port: Number(port || (isSecure ? 443 : 80)),
    ...(socketPath !== undefined && { path: socketPath }),
    ...(onread && { onread }),
  };
  if (!isSecure) return connectTcp(to).setNoDelay(true);
  return connectTls({ ...to, ...tls, ...handshake }).setNoDelay(true);
}
