import type { Socket } from 'node:net';
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
  type Outcome,
  untilOpen,
} from './carrier.ts';
import { type ResponseHead, ResponseReader, requestBytes } from './http1.ts';

/**
 * All connections of a thread read into the same memory: what has arrived is consumed before
 * anything else happens.
 */
const RECEIVED = Buffer.allocUnsafeSlow(65_536);

/**
 * A connection that was idle for this long is not used again, or for a time shorter than the server
 * keeps it by this much: the server may be closing it.
 */
const KEPT_MS = 4_000;
const CLOSING_MS = 2_000;
/**
 * A connection that was idle for this long is used a turn of the event loop later: a thread that
 * slept until the request was due has not learned yet whether the server has closed it.
 */
const QUIET_MS = 1;
const CLOSED = 'the connection was closed before the end of the response';

/** What all connections to a target have in common. */
export interface Http1Terms {
  readonly connect: ConnectTerms;
  readonly method: string;
  /** The request in bytes. */
  readonly bytes: Buffer;
  /** Whether the request leaves the connection open. */
  readonly isKept: boolean;
}

export function http1Terms(requests: Omit<RequestOptions, 'connections'>): Http1Terms {
  const { method, headers } = requests;
  const connect = connectTerms(requests);
  return {
    connect,
    method,
    bytes: requestBytes(requests, connect),
    isKept: !headers.some((header) => /^connection: .*\bclose\b/i.test(header.join(': '))),
  };
}

/**
 * One TCP or TLS connection, which sends the same request again and again. It is opened no later than
 * its first request and reopened after a failure.
 *
 * A client for any request, such as undici's, takes twice the processor time: it checks and
 * writes each request anew, and makes objects of all that it reads.
 */
export class Connection implements Carrier {
  readonly #terms: Http1Terms;
  #socket: Socket | undefined;
  #reader: ResponseReader;
  #exchange: HttpExchange | undefined;
  /** When the last response ended, and how long the connection may be idle after it. */
  #freeMs = Number.POSITIVE_INFINITY;
  #keptMs = KEPT_MS;
  /** The turn that its next request waits for. */
  #turn: NodeJS.Immediate | undefined;
  /** Lets TLS resume the session of the connection before. */
  #session: Buffer | undefined;

  constructor(terms: Http1Terms) {
    this.#terms = terms;
    this.#reader = new ResponseReader(terms.method);
  }

  /** Opens the connection without sending a request. Never rejects. */
  open(timeoutMs: number): Promise<void> {
    const isSecure = this.#terms.connect.url.protocol === 'https:';
    return untilOpen(this.#connect(), isSecure ? 'secureConnect' : 'connect', timeoutMs);
  }

  dispatch(exchange: HttpExchange): Abandon {
    const idleMs = performance.now() - this.#freeMs;
    if (idleMs > this.#keptMs) this.#drop();
    const mayBeClosed = this.#socket !== undefined && idleMs > QUIET_MS;
    if (mayBeClosed) this.#turn = setImmediate(() => this.#send(exchange));
    else this.#send(exchange);
    return this.abandon;
  }

  #send(exchange: HttpExchange): void {
    this.#exchange = exchange;
    const socket = this.#socket ?? this.#connect();
    socket.write(this.#terms.bytes);
  }

  /**
   * Aborts the current request or connection attempt. A late response may still arrive, so the next
   * request opens a new connection.
   */
  readonly abandon = (): void => {
    clearImmediate(this.#turn);
    this.#exchange = undefined;
    this.#drop();
  };

  #drop(): void {
    this.#socket?.destroy();
    this.#socket = undefined;
    this.#freeMs = Number.POSITIVE_INFINITY;
  }

  #connect(): Socket {
    const { connect, method } = this.#terms;
    const handshake = { ALPNProtocols: ['http/1.1'], session: this.#session };
    const callback = (length: number) => {
      if (this.#socket === socket) this.#read(RECEIVED.subarray(0, length));
      return true;
    };
    const socket = connectTo(connect, handshake, { buffer: RECEIVED, callback });
    socket.on('session', (session: Buffer) => {
      this.#session = session;
    });
    socket.on('error', (error) => this.#lose(socket, error));
    socket.on('end', () => this.#lose(socket));
    socket.on('close', () => this.#lose(socket));
    this.#socket = socket;
    this.#reader = new ResponseReader(method);
    return socket;
  }

  #read(bytes: Buffer): void {
    let head: ResponseHead | undefined;
    try {
      // Nobody asked for what arrives without a request.
      if (this.#exchange === undefined) this.#drop();
      else head = this.#reader.read(bytes);
    } catch (error) {
      this.#drop();
      this.#end(error as Error);
    }
    if (head !== undefined) this.#complete(head);
  }

  #complete({ status, isKept, keptMs }: ResponseHead): void {
    this.#freeMs = performance.now();
    this.#keptMs = keptMs === undefined ? KEPT_MS : keptMs - CLOSING_MS;
    if (!isKept || !this.#terms.isKept) this.#drop();
    this.#end(status);
  }

  /** Call when a connection has ended: a response without another end ends with it. */
  #lose(socket: Socket, error?: Error): void {
    if (this.#socket !== socket) return;
    this.#drop();
    const { endless } = this.#reader;
    if (endless !== undefined && error === undefined) this.#complete(endless);
    else this.#end(error ?? coded('ERR_CONNECTION_CLOSED', CLOSED));
  }

  #end(outcome: Outcome): void {
    const exchange = this.#exchange;
    this.#exchange = undefined;
    exchange?.end(outcome);
  }
}

/** HTTP/1.1 connections. Each carries one exchange at a time. */
export class ConnectionPool implements Carriers {
  readonly noRoom = 'no connection was free until the end of the run';
  readonly tooLong = NO_RESPONSE;
  readonly capacity: number;
  readonly #free: Connection[];

  constructor({ connections, ...requests }: RequestOptions) {
    const terms = http1Terms(requests);
    this.capacity = connections;
    this.#free = Array.from({ length: connections }, () => new Connection(terms));
  }

  /**
   * Opens the first `count` in advance. One that is not open in time is opened by its first request.
   */
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
