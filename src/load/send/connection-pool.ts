import { connectTerms, type Transport } from '../plan/transport.ts';
import { Connection, type HttpExchange, type RequestTemplate } from './connection.ts';

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
