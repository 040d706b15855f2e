import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  connect,
  constants,
  type OutgoingHttpHeaders,
} from 'node:http2';
import type { RequestOptions } from '../plan/options.ts';
import {
  type Abandon,
  type Carrier,
  type Carriers,
  type ConnectTerms,
  coded,
  connectTerms,
  connectTo,
  type HttpExchange,
  NO_RESPONSE,
  ownHeaders,
  untilOpen,
} from './carrier.ts';

/**
 * The streams of a session until the server's settings arrive, and if they set no maximum: then RFC
 * 9113 allows any number, but a stalled server must not make this client hold any number. It is the
 * minimum that the RFC recommends to servers.
 */
const USUAL_STREAMS = 100;
const CLOSED = 'the stream was closed before the end of the response';

/** What all sessions of a thread have in common. */
export interface Http2Terms {
  readonly connect: ConnectTerms;
  readonly headers: OutgoingHttpHeaders;
  readonly body: Uint8Array | undefined;
}

/** HTTP/1.1 headers that concern one connection. */
const OF_CONNECTION = new Set(['connection', 'proxy-connection']);

/** One HTTP/2 session, opened no later than its first request and reopened after it ends. */
export class Http2Session implements Carrier {
  readonly #terms: Http2Terms;
  #session: ClientHttp2Session | undefined;
  /** Exchanges that occupy room here. */
  inUse = 0;

  constructor(terms: Http2Terms) {
    this.#terms = terms;
  }

  /** The most exchanges at once: what the server allows, or {@link USUAL_STREAMS}. */
  get streams(): number {
    const most = this.#session?.remoteSettings?.maxConcurrentStreams ?? USUAL_STREAMS;
    // Until the server's settings arrive, Node assumes no maximum.
    return Number.isFinite(most) && most < 2 ** 31 ? most : USUAL_STREAMS;
  }

  /** Room for this many more exchanges. */
  get room(): number {
    return this.streams - this.inUse;
  }

  /** Opens the session and waits for the server's settings. Never rejects. */
  open(timeoutMs: number): Promise<void> {
    return untilOpen(this.#live(), 'remoteSettings', timeoutMs);
  }

  dispatch(exchange: HttpExchange): Abandon | undefined {
    const { headers, body } = this.#terms;
    try {
      const stream = this.#live().request(headers, { endStream: body === undefined });
      let response: number | undefined;
      stream.on('response', ({ ':status': status = 0 }) => {
        response = status;
      });
      stream.on('end', () => {
        const isWhole = stream.rstCode === constants.NGHTTP2_NO_ERROR;
        if (response !== undefined && isWhole) exchange.end(response);
      });
      stream.on('error', (error) => exchange.end(causeOf(error)));
      // After its end or an error, no effect. After the server's RST_STREAM, there was neither.
      stream.on('close', () => exchange.end(coded('ERR_HTTP2_STREAM_CANCEL', CLOSED)));
      // Discards the body.
      stream.resume();
      if (body !== undefined) stream.end(body);
      return () => this.#abandon(stream);
    } catch (error) {
      exchange.end(error as Error);
      return undefined;
    }
  }

  #abandon(stream: ClientHttp2Stream): void {
    const { session } = stream;
    stream.close(constants.NGHTTP2_CANCEL);
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
    const terms = this.#terms.connect;
    const session = connect(terms.url, {
      createConnection: () => connectTo(terms, { ALPNProtocols: ['h2'] }),
      settings: { enablePush: false },
    });
    // Its streams fail with the same error and count it.
    session.on('error', () => undefined);
    this.#session = session;
    return session;
  }
}

/** The error that ended the session, if it also ended the stream. */
function causeOf(error: Error): Error {
  return error.cause instanceof Error ? error.cause : error;
}

export function http2Terms(requests: Omit<RequestOptions, 'connections'>): Http2Terms {
  const { method, body } = requests;
  const connect = connectTerms(requests);
  const { protocol, pathname, search } = connect.url;
  const headers: Record<string, string | string[]> = {
    ':method': method,
    ':scheme': protocol.slice(0, -1),
    ':authority': connect.host,
    ':path': pathname + search,
  };
  for (const [title, value] of ownHeaders(requests.headers)) {
    const name = title.toLowerCase();
    if (OF_CONNECTION.has(name)) continue;
    const known = headers[name];
    headers[name] = known === undefined ? value : [known, value].flat();
  }
  if (body !== undefined) headers['content-length'] = String(body.byteLength);
  return { connect, headers, body };
}

/** HTTP/2 sessions, each with as many streams as the server allows. */
export class Http2Sessions implements Carriers {
  readonly noRoom = 'no stream was free until the end of the run';
  readonly tooLong = NO_RESPONSE;
  readonly #sessions: readonly Http2Session[];

  constructor({ connections, ...requests }: RequestOptions) {
    const terms = http2Terms(requests);
    this.#sessions = Array.from({ length: connections }, () => new Http2Session(terms));
  }

  get capacity(): number {
    return this.#sessions.reduce((sum, { streams }) => sum + streams, 0);
  }

  /** As {@link ConnectionPool.open}. */
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
