import type { Socket } from 'node:net';
import { buildConnector, Client, type Dispatcher } from 'undici';
import type { LoadOptions } from './options.ts';
import { type ConnectTerms, connectTerms } from './transport.ts';

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

type Connector = ReturnType<typeof buildConnector>;

/**
 * One TCP or TLS connection, opened no later than its first request and reopened after a failure.
 */
export class Connection {
  readonly #origin: string;
  readonly #host: string;
  readonly #servername: string | undefined;
  readonly #connector: Connector;
  #client: Client | undefined;
  /** Opened in advance and not used yet. */
  #ready: Socket | undefined;

  /** @param host the requests' Host header, also the server name of the TLS handshake */
  constructor(
    origin: string,
    host: string = new URL(origin).host,
    { socketPath, servername, tls }: ConnectTerms = connectTerms(),
  ) {
    this.#origin = origin;
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

  dispatch(request: RequestTemplate, handler: Dispatcher.DispatchHandler): void {
    this.#client ??= new Client(this.#origin, {
      pipelining: 1,
      headersTimeout: 0,
      bodyTimeout: 0,
      connect: this.#connect,
    });
    this.#client.dispatch(request, handler);
  }

  /** Aborts the current request or connection attempt. The next request opens a new connection. */
  reset(): void {
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
      this.#connector(this.#named(options), callback);
      return;
    }
    this.#ready = undefined;
    socket.off('close', this.#drop);
    // Undici connects while it walks its queue and would miss a synchronous answer.
    queueMicrotask(() => callback(null, socket));
  };
}
