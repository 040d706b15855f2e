import { connect as connectTcp, isIP, type OnReadOpts, type Socket } from 'node:net';
import { type ConnectionOptions, connect as connectTls } from 'node:tls';
import type { LoadOptions } from '../plan/options.ts';
import type { ConnectTerms, Transport } from '../plan/transport.ts';

/** How an exchange ended: the status of the response, or why there is none. */
export type Outcome = number | Error;

/** One request and its response. */
export class HttpExchange {
  readonly dueUs: number;
  readonly startedUs: number;
  readonly carrier: Carrier;
  readonly #onEnd: (exchange: HttpExchange, outcome: Outcome) => void;
  #ended = false;

  constructor(
    dueUs: number,
    startedUs: number,
    carrier: Carrier,
    onEnd: (exchange: HttpExchange, outcome: Outcome) => void,
  ) {
    this.dueUs = dueUs;
    this.startedUs = startedUs;
    this.carrier = carrier;
    this.#onEnd = onEnd;
  }

  /** Call with the outcome. Only the first one counts. */
  end(outcome: Outcome): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#onEnd(this, outcome);
  }

  /** Ignores the outcome. */
  giveUp(): void {
    this.#ended = true;
  }
}

/** The request of a run. */
export interface RequestTemplate {
  readonly method: string;
  readonly path: string;
  readonly headers: LoadOptions['headers'];
  readonly body: Uint8Array | undefined;
}

/** Converts the options of a run to a request. */
export function requestTemplate(
  url: URL,
  { method, headers, body }: Pick<LoadOptions, 'method' | 'headers' | 'body'>,
): RequestTemplate {
  const named = headers.some(([name]) => name.toLowerCase() === 'user-agent');
  return {
    path: url.pathname + url.search,
    method,
    headers: named ? headers : [['user-agent', 'zerotime-load'], ...headers],
    body,
  };
}

/** Carries exchanges with the target: an HTTP/1.1 connection or an HTTP/2 session. */
export interface Carrier {
  /** Sends the request. The exchange may fail before this returns. */
  dispatch(exchange: HttpExchange): void;
  /** Ends an exchange that has timed out. */
  abandon(exchange: HttpExchange): void;
}

/** The carriers of a thread. They have room for a limited number of exchanges. */
export interface Carriers {
  /** The most exchanges that they have room for. */
  readonly capacity: number;
  /**
   * Opens the first `count` in advance. One that is not open in time is opened by its first
   * request.
   */
  open(count: number, timeoutMs: number): Promise<void>;
  /** A carrier with room for one more exchange; undefined if all are busy. */
  take(): Carrier | undefined;
  /** Releases the room of an exchange. */
  give(carrier: Carrier): void;
  close(): void;
}

/** How to reach the target, and what to send. */
export interface TargetOptions {
  readonly origin: string;
  /** The Host header, if it differs from the origin. */
  readonly host?: string | undefined;
  readonly request: RequestTemplate;
  readonly connections: number;
  readonly transport?: Transport | undefined;
}

/** A host without the brackets of an IPv6 address. */
function bare(hostname: string): string {
  return hostname.replace(/^\[|\]$/g, '');
}

/**
 * The name of a host for the TLS handshake; empty for an address, which TLS does not allow, and for
 * a Host header that names no host.
 */
export function servernameOf(host: string): string {
  const url = `http://${host}`;
  const name = URL.canParse(url) ? bare(new URL(url).hostname) : '';
  return isIP(name) === 0 ? name : '';
}

/** Connects to a server: over TCP, TLS or a Unix domain socket. */
export function connectTo(
  { protocol, hostname, port }: URL,
  { socketPath, servername, tls }: ConnectTerms,
  handshake: Pick<ConnectionOptions, 'servername' | 'ALPNProtocols' | 'session'>,
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
  const named = servername === undefined ? {} : { servername };
  return connectTls({ ...to, ...tls, ...handshake, ...named }).setNoDelay(true);
}
