import type { HttpExchange } from './http-exchange.ts';

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
