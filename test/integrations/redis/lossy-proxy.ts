import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';

/** What happens to a chunk on its way. */
export type Fate = 'pass' | 'cut' | 'swallow';

/** Stands between clients and a server, and can lose what they say. */
export class LossyProxy {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  /** The fate of what clients say; half of what is cut still arrives. */
  request: (chunk: Buffer) => Fate = () => 'pass';
  /** The fate of what the server answers. */
  reply: (chunk: Buffer) => Fate = () => 'pass';

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
        if (fate === 'pass') client.write(chunk);
        if (fate === 'cut') cut();
      });
    });
  }

  /** Between whoever connects and the server at a port of the loopback interface. */
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
