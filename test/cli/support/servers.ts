import { once } from 'node:events';
import { createServer as createHttpServer, type RequestListener } from 'node:http';
import type { Http2Server } from 'node:http2';
import {
  type AddressInfo,
  createServer as createTcpServer,
  type Server,
  type Socket,
} from 'node:net';

/** A server on a free loopback port. */
export interface TestServer {
  readonly url: string;
  /** Stops listening and closes all connections. */
  kill(): Promise<void>;
}

/** Starts a server at a free port, or at the path of a socket. */
export async function started(
  server: Server | Http2Server,
  path?: string,
): Promise<TestServer & { readonly port: number }> {
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
    socket.on('error', () => undefined);
  });
  if (path === undefined) server.listen(0, '127.0.0.1');
  else server.listen(path);
  await once(server, 'listening');
  const { port } = path === undefined ? (server.address() as AddressInfo) : { port: 0 };
  const kill = async () => {
    const closed = once(server, 'close');
    server.close();
    for (const socket of sockets) socket.destroy();
    await closed;
  };
  return { port, url: `http://127.0.0.1:${port}/`, kill };
}

export function httpServer(answer: RequestListener): Promise<TestServer> {
  return started(createHttpServer(answer));
}

/** A raw TCP server: `onData` gets each chunk with its connection. */
export function tcpServer(onData: (socket: Socket, chunk: Buffer) => void): Promise<TestServer> {
  return started(
    createTcpServer((socket) => socket.on('data', (chunk: Buffer) => onData(socket, chunk))),
  );
}

/** A URL at which nothing listens: the port was free a moment ago. */
export async function deadUrl(): Promise<string> {
  const server = await httpServer(() => undefined);
  await server.kill();
  return server.url;
}
