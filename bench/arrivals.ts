import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { systemClock } from '../src/index.ts';

/** A request as seen by the server. */
interface Arrival {
  readonly atUs: number;
  /** The client's port, which identifies its connection. */
  readonly connection: number;
}

/** The requests that arrived while one generator ran. */
export interface Arrivals {
  /** Number of requests. */
  readonly count: number;
  /** Number of requests in each time slice, counted from the first request. */
  readonly slices: readonly number[];
  /** Number of requests on each connection. */
  readonly connections: readonly number[];
}

function countEach(values: Iterable<number>): Map<number, number> {
  const counts = new Map<number, number>();
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1);
  return counts;
}

/** Counts requests in time slices; those outside of `lengthMs` fall into none. */
export function arrivalsOf(
  arrivals: readonly Arrival[],
  lengthMs: number,
  sliceMs: number,
): Arrivals {
  const startUs = arrivals[0]?.atUs ?? 0;
  const inSlice = countEach(
    arrivals.map(({ atUs }) => Math.floor((atUs - startUs) / (sliceMs * 1000))),
  );
  const slices = Math.round(lengthMs / sliceMs);
  return {
    count: arrivals.length,
    slices: Array.from({ length: slices }, (_, slice) => inSlice.get(slice) ?? 0),
    connections: [...countEach(arrivals.map(({ connection }) => connection)).values()],
  };
}

/** An HTTP server that answers at once and records when each request arrived. */
export class ArrivalServer {
  readonly #server: Server;
  #arrivals: Arrival[] = [];

  private constructor(server: Server) {
    this.#server = server;
    server.on('request', (request, response) => {
      const atUs = systemClock.now();
      this.#arrivals.push({ atUs, connection: request.socket.remotePort ?? 0 });
      response.end('zerotime\n');
    });
  }

  /** Listens on a free loopback port. */
  static async listen(): Promise<ArrivalServer> {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return new ArrivalServer(server);
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/`;
  }

  /** The arrivals since the last call. */
  take(): readonly Arrival[] {
    const taken = this.#arrivals;
    this.#arrivals = [];
    return taken;
  }

  close(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }
}
