import type { Socket } from 'node:net';
import { buildConnector, Client, type Dispatcher } from 'undici';
import type { LoadOptions } from '../plan/options.ts';
import { type ConnectTerms, connectTerms, type Transport } from '../plan/transport.ts';

/** How an exchange ended: with a response, whatever its status, or with an error. */
export type Outcome =
  | { readonly ended: 'response'; readonly status: number }
  | { readonly ended: 'error'; readonly error: Error };

/** One request and its response, as an undici handler that discards the body. */
export class HttpExchange implements Dispatcher.DispatchHandler {
  readonly dueUs: number;
  readonly startedUs: number;
  readonly #onEnd: (exchange: HttpExchange, outcome: Outcome) => void;
  #status = 0;
  #ended = false;

  constructor(
    dueUs: number,
    startedUs: number,
    onEnd: (exchange: HttpExchange, outcome: Outcome) => void,
  ) {
    this.dueUs = dueUs;
    this.startedUs = startedUs;
    this.#onEnd = onEnd;
  }

  /** Whether it has no status yet but those of interim responses. */
  get awaitsStatus(): boolean {
    return this.#status < 200 && !this.#ended;
  }

  /** Does nothing. Undici recognizes its current handler interface by this method. */
  onRequestStart(): void {}

  onResponseStart(_controller: unknown, status: number): void {
    this.#status = status;
  }

  onResponseData(): void {}

  onResponseEnd(): void {
    this.#end({ ended: 'response', status: this.#status });
  }

  onResponseError(_controller: unknown, error: Error): void {
    this.#end({ ended: 'error', error });
  }

  /** Ends the exchange and ignores later events from undici. */
  giveUp(): void {
    this.#ended = true;
  }

  #end(outcome: Outcome): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#onEnd(this, outcome);
  }
}

/** The request in undici's form, built once per run. */
export type RequestTemplate = Dispatcher.DispatchOptions;

/** Converts the options of a run to an undici request. */
export function requestTemplate(
  url: URL,
  { method, headers, body }: Pick<LoadOptions, 'method' | 'headers' | 'body'>,
): RequestTemplate {
  const named = headers.some(([name]) => name.toLowerCase() === 'user-agent');
  const sent = named ? headers : [['user-agent', 'zerotime-load'], ...headers];
  return {
    path: url.pathname + url.search,
    method,
    headers: sent.flat(),
    ...(body === undefined ? {} : { body }),
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

type Connector = ReturnType<typeof buildConnector>;

/**
 * One TCP or TLS connection, which sends the same request again and again. It is opened no later than
 * its first request and reopened after a failure.
 */
export class Connection {
  readonly #origin: string;
  readonly #request: RequestTemplate;
  readonly #host: string;
  readonly #servername: string | undefined;
  readonly #connector: Connector;
  #client: Client | undefined;
  #exchange: HttpExchange | undefined;
  /** Opened in advance and not used yet. */
  #ready: Socket | undefined;

  /** @param host the requests' Host header, also the server name of the TLS handshake */
  constructor(
    origin: string,
    request: RequestTemplate,
    host: string = new URL(origin).host,
    { socketPath, servername, tls }: ConnectTerms = connectTerms(),
  ) {
    this.#origin = origin;
    this.#request = request;
    this.#host = host;
    this.#servername = servername;
    // Undici's timeouts are only accurate to about a second. The sender has its own.
    this.#connector = buildConnector({
      timeout: 0,
      ...tls,
      ...(socketPath !== undefined && { socketPath }),
    });
  }

  /**
   * Opens the connection without sending a request. Never rejects: after a failure or a timeout,
   * the first request tries again and counts the outcome.
   */
  open(timeoutMs: number): Promise<void> {
    const { protocol, hostname, port } = new URL(this.#origin);
    return new Promise((resolve) => {
      const settle = (socket?: Socket) => {
        clearTimeout(timer);
        if (socket !== undefined) this.#keep(socket);
        resolve();
      };
      const name = hostname.replace(/^\[|\]$/g, '');
      const target = this.#named({ protocol, hostname: name, host: this.#host, port });
      // The connector returns the socket, though its type doesn't declare it.
      const opening = this.#connector(target, (error, socket) =>
        settle(error === null ? socket : undefined),
      ) as unknown as Socket;
      const timer = setTimeout(() => {
        opening.destroy();
        settle();
      }, timeoutMs);
    });
  }

  /** Sends the request. The exchange may fail before this returns. */
  dispatch(exchange: HttpExchange): void {
    this.#exchange = exchange;
    this.#client ??= new Client(this.#origin, {
      pipelining: 1,
      headersTimeout: 0,
      bodyTimeout: 0,
      connect: this.#connect,
    });
    this.#client.dispatch(this.#request, exchange);
  }

  /**
   * Aborts the current request or connection attempt. A late response may still arrive, so the next
   * request opens a new connection.
   */
  abandon(): void {
    // Pending requests fail through their handlers; nothing waits for the socket to close.
    this.#client?.destroy().catch(() => undefined);
    this.#client = undefined;
    this.#ready?.destroy();
    this.#ready = undefined;
  }

  #keep(socket: Socket): void {
    this.#ready = socket;
    socket.once('close', this.#drop);
  }

  readonly #drop = (): void => {
    this.#ready?.destroy();
    this.#ready = undefined;
  };

  /** Undici would use the host as the server name. */
  #named(options: buildConnector.Options): buildConnector.Options {
    return this.#servername === undefined ? options : { ...options, servername: this.#servername };
  }

  readonly #connect: Connector = (options, callback) => {
    const socket = this.#ready;
    if (socket === undefined) {
      const client = this.#client;
      this.#connector(this.#named(options), (...answer) => {
        const [error, opened] = answer;
        if (error === null) acceptContinue(opened, () => this.#exchange?.awaitsStatus === true);
        callback(...answer);
        // Undici would neither fail nor retry the client's next request.
        if (error !== null && isWrongName(error) && this.#client === client) this.abandon();
      });
      return;
    }
    acceptContinue(socket, () => this.#exchange?.awaitsStatus === true);
    this.#ready = undefined;
    socket.off('close', this.#drop);
    // Undici connects while it walks its queue and would miss a synchronous answer.
    queueMicrotask(() => callback(null, socket));
  };
}

function isWrongName(error: Error): boolean {
  return (error as NodeJS.ErrnoException).code === 'ERR_TLS_CERT_ALTNAME_INVALID';
}

const CONTINUE = Buffer.from('HTTP/1.1 100');
const INTERIM = CONTINUE.subarray(0, -2);
const END_OF_HEAD = '\r\n\r\n';

/**
 * Servers may send `100 Continue` to any request. Undici takes that for an error and skips other
 * interim responses, so it gets to see a `102 Processing`.
 */
function acceptContinue(socket: Socket, awaitsStatus: () => boolean): void {
  const read = socket.read;
  socket.read = (...size) => {
    const chunk: Buffer | null = read.apply(socket, size);
    if (chunk === null || !awaitsStatus()) return chunk;
    const beginsWith = (bytes: Buffer, at: number) =>
      bytes.equals(chunk.subarray(at, at + bytes.length));
    for (let at = 0; beginsWith(INTERIM, at); ) {
      if (beginsWith(CONTINUE, at)) chunk.write('2', at + CONTINUE.length - 1, 'latin1');
      const end = chunk.indexOf(END_OF_HEAD, at, 'latin1');
      if (end < 0) break;
      at = end + END_OF_HEAD.length;
    }
    return chunk;
  };
}

/** HTTP/1.1 connections. Each carries one exchange at a time. */
export class ConnectionPool implements Carriers {
  readonly capacity: number;
  readonly #free: Connection[];

  constructor({ origin, host, request, connections, transport }: TargetOptions) {
    const terms = connectTerms(transport);
    this.capacity = connections;
    this.#free = Array.from(
      { length: connections },
      () => new Connection(origin, request, host, terms),
    );
  }

  async open(count: number, timeoutMs: number): Promise<void> {
    // The pool is a stack: the last one is used first.
    const first = this.#free.slice(-count);
    await Promise.all(first.map((connection) => connection.open(timeoutMs)));
  }

  take(): Connection | undefined {
    // The connection freed last is open and warm. Surplus connections are never opened.
    return this.#free.pop();
  }

  give(connection: Connection): void {
    this.#free.push(connection);
  }

  close(): void {
    for (const connection of this.#free) connection.abandon();
  }
}
