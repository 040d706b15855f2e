import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { type AddressInfo, createServer, type ListenOptions } from 'node:net';
import process from 'node:process';
import { text } from 'node:stream/consumers';
import { Worker } from 'node:worker_threads';
import { ManualClock, Region } from '../../src/index.ts';
import { compiled } from './crew.ts';
import { type Middleware, type Serving, WINDOW_MS } from './http-store-limits.ts';

const THREADS = 4;

const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
/** Whether several threads can listen on one port. */
export const HAS_REUSE_PORT =
  process.platform === 'linux' &&
  (major > 23 || (major === 23 && minor >= 1) || (major === 22 && minor >= 12));

/** Holds a port for threads that will listen on it, until it is closed. */
export async function heldPort(): Promise<{ readonly port: number; close(): void }> {
  const holder = createServer();
  const any = { host: '127.0.0.1', port: 0, reusePort: true };
  await once(holder.listen(any as ListenOptions), 'listening');
  return { port: (holder.address() as AddressInfo).port, close: () => void holder.close() };
}

/** An answer of a thread. */
export interface Answered {
  readonly status: number | undefined;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

/** Four threads that serve HTTP and share the counts of a store. */
export class HttpThreads {
  readonly clock: ManualClock;
  readonly #startMs: number;
  readonly ports: readonly number[];
  readonly #workers: readonly Worker[];
  #turn = 0;

  private constructor(clock: ManualClock, ports: readonly number[], workers: readonly Worker[]) {
    this.clock = clock;
    this.#startMs = clock.nowMs;
    this.ports = ports;
    this.#workers = workers;
  }

  /** Starts them, each on a port of its own or all on one. */
  static async start(middleware: Middleware, isOnePort = false): Promise<HttpThreads> {
    const region = Region.create({ bytes: 262_144 });
    const clock = ManualClock.open(region, 'clock');
    const held = isOnePort ? await heldPort() : undefined;
    const listen = { host: '127.0.0.1', port: held?.port ?? 0, reusePort: isOnePort };
    const workerData: Serving = { middleware, region: region.handle, listen };
    const workers = Array.from(
      { length: THREADS },
      () => new Worker(compiled('http-server'), { workerData }),
    );
    const ports = await Promise.all(workers.map((worker) => once(worker, 'message')));
    held?.close();
    return new HttpThreads(clock, ports.flat(), workers);
  }

  async stop(): Promise<void> {
    await Promise.all(this.#workers.map((worker) => worker.terminate()));
  }

  /** Moves the clock to where the next window begins, of any length that divides the longest. */
  nextWindow(): void {
    this.clock.advance(WINDOW_MS - ((this.clock.nowMs - this.#startMs) % WINDOW_MS));
  }

  /** Sends a request of a client to the next thread, on a connection of its own. */
  async ask(path: string, client: string, method = 'GET'): Promise<Answered> {
    const port = this.ports[this.#turn++ % this.ports.length];
    const headers = { 'x-client': client };
    const sent = request({ host: '127.0.0.1', port, path, method, headers, agent: false }).end();
    const [response] = (await once(sent, 'response')) as [IncomingMessage];
    const { statusCode: status, headers: fields } = response;
    return { status, headers: fields, body: await text(response) };
  }

  /** Sends requests one after the other; resolves with their statuses. */
  async statuses(path: string, client: string, count: number): Promise<(number | undefined)[]> {
    const all: (number | undefined)[] = [];
    for (let i = 0; i < count; i++) all.push((await this.ask(path, client)).status);
    return all;
  }

  /** Sends requests at once; resolves with the number of answers of each status. */
  async rush(path: string, client: string, count: number): Promise<Record<number, number>> {
    const asked = Array.from({ length: count }, () => this.ask(path, client));
    const counts: Record<number, number> = {};
    for (const { status = 0 } of await Promise.all(asked)) {
      counts[status] = (counts[status] ?? 0) + 1;
    }
    return counts;
  }
}
