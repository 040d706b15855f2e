import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';

/** The fate of a chunk. */
export type Fate = 'pass' | 'cut' | 'swallow';

/** A proxy between clients and a server that can lose data. */
export class LossyProxy {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  /** The fate of client data; half of a chunk that is cut still arrives. */
  request: (chunk: Buffer) => Fate = () => 'pass';
  /** The fate of server data. */
  reply: (chunk: Buffer) => Fate = () => 'pass';
  /** How long server data takes. */
  delayMs = 0;

  private constructor(port: number) {
    this.#server = createServer((client) => {
      const server = connect(port, '127.0.0.1');
      const cut = () => {
        client.destroy();
        server.destroy();
      };
      for (const socket of [client, server]) {
        this.#sockets.add(socket);
        socket.on('error', cut);
        socket.on('close', () => {
          this.#sockets.delete(socket);
          cut();
        });
      }
      client.on('data', (chunk) => {
        const fate = this.request(chunk);
        if (fate === 'pass') server.write(chunk);
        if (fate === 'cut') server.write(chunk.subarray(0, chunk.length / 2), cut);
      });
      server.on('data', (chunk) => {
        const fate = this.reply(chunk);
        if (fate === 'pass' && this.delayMs > 0) {
          setTimeout(() => client.write(chunk), this.delayMs);
        } else if (fate === 'pass') client.write(chunk);
        if (fate === 'cut') cut();
      });
    });
  }

  /** Creates a proxy for the server at this loopback port. */
  static async to(port: number): Promise<LossyProxy> {
    const proxy = new LossyProxy(port);
    await new Promise<void>((resolve) => proxy.#server.listen(0, '127.0.0.1', resolve));
    return proxy;
  }

  get url(): string {
    return `redis://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async stop(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}
