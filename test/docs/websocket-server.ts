import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';

const MAGIC = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11';
const CLOSE = 8;

export interface WebSocketServer {
  readonly url: string;
  kill(): Promise<void>;
}

/** Sends each message back: RFC 6455 for messages of up to 125 bytes, each in one frame. */
export async function websocketServer(): Promise<WebSocketServer> {
  const sockets = new Set<Duplex>();
  const server = createServer().on('upgrade', (request: IncomingMessage, socket: Duplex) => {
    sockets.add(socket);
    const accept = createHash('sha1')
      .update(request.headers['sec-websocket-key'] + MAGIC)
      .digest('base64');
    socket.write(
      'HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n' +
        `Sec-WebSocket-Accept: ${accept}\r\n\r\n`,
    );
    echo(socket);
  });
  server.listen(0);
  await once(server, 'listening');
  return {
    url: `ws://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async kill() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}

function echo(socket: Duplex): void {
  let rest = Buffer.alloc(0);
  socket.on('error', () => undefined);
  socket.on('data', (chunk: Buffer) => {
    rest = Buffer.concat([rest, chunk]);
    for (;;) {
      const length = (rest[1] ?? 0) & 0x7f;
      const end = 6 + length;
      if (rest.length < end) return;
      const mask = rest.subarray(2, 6);
      const text = rest.subarray(6, end).map((byte, at) => byte ^ (mask[at % 4] ?? 0));
      socket.write(Buffer.concat([rest.subarray(0, 1), Buffer.of(length), text]));
      const isClose = ((rest[0] ?? 0) & 0x0f) === CLOSE;
      rest = rest.subarray(end);
      if (isClose) {
        socket.end();
        return;
      }
    }
  });
}
