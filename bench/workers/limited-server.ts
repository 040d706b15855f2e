import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** The limits of a server, which it checks by itself. */
export interface ServerLimits {
  readonly rate: number;
  readonly burst: number;
  readonly atOnce: number;
  readonly serviceMs: number;
}

/** What a server saw. */
export interface ServerReport {
  readonly requests: number;
  /** By how many requests the densest interval exceeded the rate. */
  readonly mostBurst: number;
  readonly mostAtOnce: number;
  /** Requests beyond either limit. */
  readonly violations: number;
  readonly byPath: Readonly<Record<string, number>>;
  /** Milliseconds from the first request to the last. */
  readonly lastedMs: number;
}

// A process that answers requests, and counts those that break its limits.
const { rate, burst, atOnce, serviceMs } = JSON.parse(process.argv[2] ?? '{}') as ServerLimits;
const byPath: Record<string, number> = {};
let [requests, inFlight, mostAtOnce, mostBurst, violations] = [0, 0, 0, 0, 0];
let [firstMs, lastMs, leastLead] = [0, 0, Number.POSITIVE_INFINITY];

const server = createServer((request, response) => {
  lastMs = performance.now();
  if (requests === 0) firstMs = lastMs;
  const lead = requests++ - (rate * (lastMs - firstMs)) / 1000;
  leastLead = Math.min(leastLead, lead);
  const beyond = lead + 1 - leastLead;
  mostBurst = Math.max(mostBurst, beyond);
  mostAtOnce = Math.max(mostAtOnce, ++inFlight);
  if (beyond > burst || inFlight > atOnce) violations++;
  const path = request.url ?? '';
  byPath[path] = (byPath[path] ?? 0) + 1;
  const answer = () => {
    // Before the client can know that its request is over.
    inFlight--;
    response.end('ok');
  };
  setTimeout(answer, 2 * serviceMs * Math.random());
});
server.listen(0, '127.0.0.1', () => process.send?.((server.address() as AddressInfo).port));
process.on('message', () => {
  const lastedMs = lastMs - firstMs;
  const report: ServerReport = { requests, mostBurst, mostAtOnce, violations, byPath, lastedMs };
  process.send?.(report);
});
