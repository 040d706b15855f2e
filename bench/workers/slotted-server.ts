import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** The argument of the process, as JSON. */
export interface SlottedServer {
  readonly serviceMs: number;
  /** Whether every request takes equally long. Otherwise the times are exponential. */
  readonly isEqual: boolean;
}

/** How many requests it processes at once from now on. It answers with what it saw since before. */
export interface SlotsChange {
  readonly slots: number;
}

export interface SlottedReport {
  readonly served: number;
  /** Requests that had arrived and were not answered yet, on average over time. */
  readonly inFlight: number;
  readonly lastedMs: number;
}

// A process with a number of slots, each of which serves one request at a time. Others queue.
const { serviceMs, isEqual } = JSON.parse(process.argv[2] ?? '') as SlottedServer;
const waiting: (() => void)[] = [];
let [slots, busy, served] = [0, 0, 0];
/** Requests in flight times milliseconds, up to `nowMs`. */
let [area, nowMs, sinceMs] = [0, performance.now(), performance.now()];

/** Brings the area up to now, before the number in flight changes. */
function look(): void {
  const atMs = performance.now();
  area += (busy + waiting.length) * (atMs - nowMs);
  nowMs = atMs;
}

function startNext(): void {
  while (busy < slots) {
    const serve = waiting.shift();
    if (serve === undefined) return;
    busy++;
    serve();
  }
}

const server = createServer((_request, response) => {
  look();
  waiting.push(() => {
    setTimeout(
      () => {
        look();
        busy--;
        served++;
        response.end('ok');
        startNext();
      },
      isEqual ? serviceMs : -serviceMs * Math.log(1 - Math.random()),
    );
  });
  startNext();
});
server.listen(0, '127.0.0.1', () => process.send?.((server.address() as AddressInfo).port));
process.on('message', (change: SlotsChange) => {
  look();
  const lastedMs = nowMs - sinceMs;
  const report: SlottedReport = { served, inFlight: area / lastedMs, lastedMs };
  [area, served, sinceMs] = [0, 0, nowMs];
  slots = change.slots;
  startNext();
  process.send?.(report);
});
