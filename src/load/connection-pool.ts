import type { Carrier, Carriers } from './carriers.ts';
import { Connection, type RequestTemplate } from './connection.ts';
import type { HttpExchange } from './http-exchange.ts';
import { connectTerms, type Transport } from './transport.ts';

/** How to reach the target, and what to send. */
export interface TargetOptions {
  readonly origin: string;
  /** The Host header, if it differs from the origin. */
  readonly host?: string | undefined;
  readonly request: RequestTemplate;
  readonly connections: number;
  readonly transport?: Transport | undefined;
}

/** A connection that sends the same request again and again. */
class RequestConnection implements Carrier {
  readonly #connection: Connection;
  readonly #request: RequestTemplate;

  constructor(connection: Connection, request: RequestTemplate) {
    this.#connection = connection;
    this.#request = request;
  }

  open(timeoutMs: number): Promise<void> {
    return this.#connection.open(timeoutMs);
  }

  dispatch(exchange: HttpExchange): void {
    this.#connection.dispatch(this.#request, exchange);
  }

  /** A late response may still arrive, so the next exchange needs a new connection. */
  abandon(): void {
    this.#connection.reset();
  }
}

/** HTTP/1.1 connections. Each carries one exchange at a time. */
export class ConnectionPool implements Carriers {
  readonly capacity: number;
  readonly #free: RequestConnection[];

  constructor({ origin, host, request, connections, transport }: TargetOptions) {
    const terms = connectTerms(transport);
    this.capacity = connections;
    this.#free = Array.from(
      { length: connections },
      () => new RequestConnection(new Connection(origin, host, terms), request),
    );
  }

  async open(count: number, timeoutMs: number): Promise<void> {
    // The pool is a stack: the last one is used first.
    const first = this.#free.slice(-count);
    await Promise.all(first.map((connection) => connection.open(timeoutMs)));
  }

  take(): RequestConnection | undefined {
    // The connection freed last is open and warm. Surplus connections are never opened.
    return this.#free.pop();
  }

  give(connection: RequestConnection): void {
    this.#free.push(connection);
  }

  close(): void {
    for (const connection of this.#free) connection.abandon();
  }
}
