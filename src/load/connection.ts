import { Client, type Dispatcher } from 'undici';
import type { LoadOptions } from './options.ts';

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

/** One TCP or TLS connection. Opened by its first request and reopened after a failure. */
export class Connection {
  readonly #origin: string;
  #client: Client | undefined;

  constructor(origin: string) {
    this.#origin = origin;
  }

  dispatch(request: RequestTemplate, handler: Dispatcher.DispatchHandler): void {
    this.#client ??= new Client(this.#origin, {
      pipelining: 1,
      // Undici's timeouts are only accurate to about a second, so the sender has its own.
      headersTimeout: 0,
      bodyTimeout: 0,
      connectTimeout: 0,
    });
    this.#client.dispatch(request, handler);
  }

  /** Aborts what is in progress, connecting included. The next request opens a new connection. */
  reset(): void {
    // Pending requests fail through their handlers; nothing waits for the socket to close.
    this.#client?.destroy().catch(() => undefined);
    this.#client = undefined;
  }
}
