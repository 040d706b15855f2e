import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import {
  createServer as createHttp2Server,
  type Http2ServerRequest,
  type Http2ServerResponse,
} from 'node:http2';
import type { AddressInfo } from 'node:net';
import type { MessagePort } from 'node:worker_threads';

/** Posted to the main thread once the embedded server listens. */
export interface ServerListening {
  readonly url: string;
}

const GREETING = Buffer.from('zerotime\n');

/** The embedded server's options, as `workerData`. */
export interface EchoServerOptions {
  /** Speak HTTP/2 with prior knowledge instead of HTTP/1.1. */
  readonly http2: boolean;
}

/** Responds immediately with the request's body, or with a greeting. */
function echo(
  request: IncomingMessage | Http2ServerRequest,
  response: ServerResponse | Http2ServerResponse,
): void {
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => chunks.push(chunk));
  request.on('end', () => {
    const body = chunks.length === 0 ? GREETING : Buffer.concat(chunks);
    const headers = { 'content-type': 'text/plain', 'content-length': body.length };
    // The two response classes share no type with a callable `writeHead`.
    (response as ServerResponse).writeHead(200, headers);
    response.end(body);
  });
}

/** Serves on a free loopback port until the thread is terminated. */
export function runEchoServer(port: MessagePort, { http2 }: EchoServerOptions): void {
  const server = http2 ? createHttp2Server(echo) : createServer(echo);
  server.listen(0, '127.0.0.1', () => {
    const { port: tcpPort } = server.address() as AddressInfo;
    port.postMessage({ url: `http://127.0.0.1:${tcpPort}/` } satisfies ServerListening);
  });
}
