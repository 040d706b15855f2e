import type { HttpExchange } from './http-exchange.ts';

/** Carries exchanges with the target: a connection of HTTP/1.1, or a session of HTTP/2. */
export interface Carrier {
  /** Sends the request. The exchange may fail before this returns. */
  dispatch(exchange: HttpExchange): void;
  /** Ends an exchange that got no complete response in time. */
  abandon(exchange: HttpExchange): void;
}

/** The carriers of a thread, with room for a limited number of exchanges. */
export interface Carriers {
  /** Opens the first `count` ahead; what can't be opened in time is left to its first request. */
  open(count: number, timeoutMs: number): Promise<void>;
  /** A carrier with room for one more exchange; undefined if there is none. */
  take(): Carrier | undefined;
  /** Gives the room of an exchange back. */
  give(carrier: Carrier): void;
  close(): void;
}
