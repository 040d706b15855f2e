import { Client, type Dispatcher } from 'undici';
import type { LoadOptions } from './options.ts';

/** A request as undici takes it; the same for every request of a run. */
export type RequestTemplate = Dispatcher.DispatchOptions;

/** Translates the options of a run to a request, once. */
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

/** One TCP or TLS connection, opened with its first request and opened again after a failure. */
export class Connection {
  readonly #origin: string;
  #client: Client | undefined;

  constructor(origin: string) {
    this.#origin = origin;
  }

  dispatch(request: RequestTemplate, handler: Dispatcher.DispatchHandler): void {
    this.#client ??= new Client(this.#origin, {
      pipelining: 1,
      // Undici's timeouts are about a second coarse: the sender keeps time itself.
      headersTimeout: 0,
      bodyTimeout: 0,
      connectTimeout: 0,
    });
    this.#client.dispatch(request, handler);
  }

  /** Gives up whatever goes on, connecting included. The next request opens a new connection. */
  reset(): void {
    // The handler hears of it, if there is one; nobody waits for the socket to be closed.
    this.#client?.destroy().catch(() => undefined);
    this.#client = undefined;
  }
}
