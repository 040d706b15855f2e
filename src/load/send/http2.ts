import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  connect,
  constants,
  type OutgoingHttpHeaders,
} from 'node:http2';
import { connect as connectTcp, isIP, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { type ConnectTerms, connectTerms } from '../plan/transport.ts';
import type {
  Carrier,
  Carriers,
  HttpExchange,
  RequestTemplate,
  TargetOptions,
} from './connection.ts';

/** Assumed until the server's settings arrive: the minimum that RFC 9113 recommends to servers. */
const FIRST_STREAMS = 100;

/** A request in HTTP/2 form, built once per run. */
export interface Http2Request {
  readonly headers: OutgoingHttpHeaders;
  readonly body: Uint8Array | undefined;
  /** Its host, for the TLS handshake. */
  readonly servername: string;
}

/** HTTP/1.1 headers that concern one connection, or that HTTP/2 renames. */
const OF_CONNECTION = new Set(['connection', 'host', 'proxy-connection']);

/**
 * One HTTP/2 session, opened no later than its first request and reopened after it ends.
 *
 * Undici's client (7.30, `allowH2`, `useH2c`) speaks HTTP/2 as well, aborts single streams and never
 * falls back to HTTP/1.1. But it keeps to itself how many streams the server allows: requests above
 * that number would wait inside of it and count as sent, and it opens no session in advance.
 */
export class Http2Session implements Carrier {
  readonly #origin: URL;
  readonly #request: Http2Request;
  readonly #terms: ConnectTerms;
  #session: ClientHttp2Session | undefined;
  readonly #streams = new Map<HttpExchange, ClientHttp2Stream>();
  /** Exchanges that occupy room here. */
  inUse = 0;

  constructor(origin: URL, request: Http2Request, terms: ConnectTerms) {
    this.#origin = origin;
    this.#request = request;
    this.#terms = terms;
  }

  /** The most exchanges at once: what the server allows. */
  get streams(): number {
    const most = this.#session?.remoteSettings?.maxConcurrentStreams ?? FIRST_STREAMS;
    // Until the server's settings arrive, Node assumes no maximum.
    return Number.isFinite(most) && most < 2 ** 31 ? most : FIRST_STREAMS;
  }

  /** Room for this many more exchanges. */
  get room(): number {
    return this.streams - this.inUse;
  }

  /** Opens the session and waits for the server's settings. Never rejects. */
  open(timeoutMs: number): Promise<void> {
    const session = this.#live();
    return new Promise((resolve) => {
      const settle = () => {
        clearTimeout(timer);
        session.off('remoteSettings', settle);
        session.off('close', settle);
        resolve();
      };
      const timer = setTimeout(() => {
        session.destroy();
        settle();
      }, timeoutMs);
      session.on('remoteSettings', settle);
      session.on('close', settle);
    });
  }

  dispatch(exchange: HttpExchange): void {
    const { headers, body } = this.#request;
    const fail = (error: Error) => exchange.onResponseError(undefined, error);
    try {
      const stream = this.#live().request(headers, { endStream: body === undefined });
      this.#streams.set(exchange, stream);
      let hasStatus = false;
      stream.on('response', ({ ':status': status = 0 }) => {
        hasStatus = true;
        exchange.onResponseStart(undefined, status);
      });
      stream.on('end', () => {
        const isWhole = hasStatus && stream.rstCode === constants.NGHTTP2_NO_ERROR;
        if (isWhole) exchange.onResponseEnd();
      });
      stream.on('error', (error) => fail(causeOf(error)));
      // Has no effect after its end or an error.
      stream.on('close', () => {
        this.#streams.delete(exchange);
        fail(streamClosed());
      });
      // Discards the body.
      stream.resume();
      if (body !== undefined) stream.end(body);
    } catch (error) {
      fail(error as Error);
    }
  }

  abandon(exchange: HttpExchange): void {
    const stream = this.#streams.get(exchange);
    const session = stream?.session;
    stream?.close(constants.NGHTTP2_CANCEL);
    // A session opened since then is not to blame.
    if (session === undefined || session !== this.#session || !session.connecting) return;
    // Its pending requests fail with it. The next requests open another session.
    session.close();
    this.#session = undefined;
  }

  /** Ends all requests in progress. The next request opens a new session. */
  close(): void {
    this.#session?.destroy();
    this.#session = undefined;
  }

  /** A session that accepts new requests, opened if there is none. */
  #live(): ClientHttp2Session {
    const known = this.#session;
    // After the server's GOAWAY, a session finishes its streams and accepts no new ones.
    if (known !== undefined && !known.closed && !known.destroyed) return known;
    const session = connect(this.#origin, {
      createConnection: () => this.#connect(),
      settings: { enablePush: false },
    });
    // Its streams fail with the same error and count it.
    session.on('error', () => undefined);
    this.#session = session;
    return session;
  }

  #connect(): Socket {
    const { protocol, hostname, port } = this.#origin;
    const { socketPath, tls, servername } = this.#terms;
    const host = hostname.replace(/^\[|\]$/g, '');
    if (protocol === 'http:') {
      const address = { host, port: Number(port || 80) };
      return connectTcp(socketPath === undefined ? address : { path: socketPath });
    }
    return connectTls({
      host,
      port: Number(port || 443),
      ...(socketPath !== undefined && { path: socketPath }),
      ...tls,
      ALPNProtocols: ['h2'],
      servername: servername ?? this.#request.servername,
    });
  }
}

/** The error that ended the session, if it also ended the stream. */
function causeOf(error: Error): Error {
  return error.cause instanceof Error ? error.cause : error;
}

/** For streams that end without an error of their own, as after the server's RST_STREAM. */
function streamClosed(): Error {
  const error = new Error('the stream was closed before the end of the response');
  return Object.assign(error, { code: 'ERR_HTTP2_STREAM_CANCEL' });
}

/** Converts a request from undici's form. */
export function http2Request(url: URL, host: string, template: RequestTemplate): Http2Request {
  const { path, method, headers: flat, body } = template;
  const headers: Record<string, string | string[]> = {
    ':method': method,
    ':scheme': url.protocol.slice(0, -1),
    ':authority': host,
    ':path': path,
  };
  const names = flat as readonly string[]; // made by `requestTemplate`
  for (let at = 0; at < names.length; at += 2) {
    const [name = '', value = ''] = [names[at]?.toLowerCase(), names[at + 1]];
    if (OF_CONNECTION.has(name)) continue;
    const known = headers[name];
    headers[name] = known === undefined ? value : [known, value].flat();
  }
  const bytes = body as Uint8Array | undefined; // likewise
  if (bytes !== undefined) headers['content-length'] = String(bytes.byteLength);
  const { hostname } = new URL(`${url.protocol}//${host}`);
  const name = hostname.replace(/^\[|\]$/g, '');
  // TLS allows no address as a server name.
  return { headers, body: bytes, servername: isIP(name) === 0 ? name : '' };
}

/** HTTP/2 sessions, each with as many streams as the server allows. */
export class Http2Sessions implements Carriers {
  readonly #sessions: readonly Http2Session[];

  constructor({ origin, host, request, connections, transport }: TargetOptions) {
    const url = new URL(origin);
    const terms = connectTerms(transport);
    const repeated = http2Request(url, host ?? url.host, request);
    this.#sessions = Array.from(
      { length: connections },
      () => new Http2Session(url, repeated, terms),
    );
  }

  get capacity(): number {
    return this.#sessions.reduce((sum, { streams }) => sum + streams, 0);
  }

  async open(count: number, timeoutMs: number): Promise<void> {
    const first = this.#sessions.slice(0, count);
    await Promise.all(first.map((session) => session.open(timeoutMs)));
  }

  /** The session with the fewest streams. */
  take(): Http2Session | undefined {
    let free: Http2Session | undefined;
    for (const session of this.#sessions) {
      if (session.room > 0 && (free === undefined || session.inUse < free.inUse)) free = session;
    }
    if (free !== undefined) free.inUse += 1;
    return free;
  }

  give(session: Http2Session): void {
    session.inUse -= 1;
  }

  close(): void {
    for (const session of this.#sessions) session.close();
  }
}
