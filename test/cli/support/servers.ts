import { createServer as createHttpServer, type RequestListener } from 'node:http';
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

async function listen(server: Server): Promise<TestServer> {
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
    socket.on('error', () => undefined);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/`,
    kill: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const socket of sockets) socket.destroy();
      }),
  };
}

export function httpServer(answer: RequestListener): Promise<TestServer> {
  return listen(createHttpServer(answer));
}

/** A raw TCP server: `onData` gets each chunk with its connection. */
export function tcpServer(onData: (socket: Socket, chunk: Buffer) => void): Promise<TestServer> {
  return listen(
    createTcpServer((socket) => socket.on('data', (chunk: Buffer) => onData(socket, chunk))),
  );
}

/** A URL at which nothing listens: the port was free a moment ago. */
export async function deadUrl(): Promise<string> {
  const server = await httpServer(() => undefined);
  await server.kill();
  return server.url;
}
