import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { systemClock } from '../src/index.ts';

/** A request, as the server saw it. */
interface Arrival {
  readonly atUs: number;
  /** The client's port tells its connections apart. */
  readonly connection: number;
}

/** What came to the server while one generator ran. */
export interface Arrivals {
  /** Requests. */
  readonly count: number;
  /** How many came in each slice of the time asked for, from the first one on. */
  readonly slices: readonly number[];
  /** Requests of each connection. */
  readonly connections: readonly number[];
}

function countEach(values: Iterable<number>): Map<number, number> {
  const counts = new Map<number, number>();
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1);
  return counts;
}

/** Sorts requests into slices of time, and those before and after `lengthMs` into none. */
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

/** An HTTP server that answers at once and writes down when each request came. */
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

  /** Listens on a free port of the loopback interface. */
  static async listen(): Promise<ArrivalServer> {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return new ArrivalServer(server);
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/`;
  }

  /** What came since it was last asked. */
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
