import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { MessagePort } from 'node:worker_threads';

/** The embedded server's message to the main thread once it listens. */
export interface ServerListening {
  readonly url: string;
}

const GREETING = Buffer.from('zerotime\n');

/** An HTTP server that answers at once with the request's body, or with a greeting. */
function createEchoServer(): Server {
  return createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const body = chunks.length === 0 ? GREETING : Buffer.concat(chunks);
      response.writeHead(200, { 'content-type': 'text/plain', 'content-length': body.length });
      response.end(body);
    });
  });
}

/** Serves on a free loopback port until the thread ends. */
export function runEchoServer(port: MessagePort): void {
  const server = createEchoServer();
  server.listen(0, '127.0.0.1', () => {
    const { port: tcpPort } = server.address() as AddressInfo;
    port.postMessage({ url: `http://127.0.0.1:${tcpPort}/` } satisfies ServerListening);
  });
}
