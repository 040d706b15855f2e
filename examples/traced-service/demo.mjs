// Starts a collector and the service, sends orders, and looks at the traces that arrive.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { createInterface } from 'node:readline';
import { json } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';

const { ORDERS = '3000', RATE = '50', BURST = '100' } = process.env;
const AT_ONCE = 20;

/** The names of the spans of each trace. @type {Map<string, string[]>} */
const traces = new Map();
let standFor = 0;
let variance = 0;
let uncounted = 0;

const collector = createServer(async (request, response) => {
  /** @type {any} */
  const { resourceSpans } = await json(request);
  const scopes = resourceSpans.flatMap((/** @type {any} */ resource) => resource.scopeSpans);
  const spans = scopes.flatMap((/** @type {any} */ scope) => scope.spans);
  for (const { traceId, name, traceState = '' } of spans) {
    traces.set(traceId, [...(traces.get(traceId) ?? []), name]);
    if (name !== 'order') continue;
    // A trace with the threshold T of 56 bits stands for 2^56 / (2^56 - T) of them.
    const [, threshold] = /\bth:([0-9a-f]+)/.exec(traceState) ?? [];
    if (threshold === undefined) {
      uncounted++;
      continue;
    }
    const count = 1 / (1 - Number.parseInt(threshold, 16) / 16 ** threshold.length);
    standFor += count;
    variance += count * (count - 1);
  }
  response.setHeader('content-type', 'application/json').end('{}');
}).listen(0, '127.0.0.1');
await once(collector, 'listening');
const { port } = /** @type {import('node:net').AddressInfo} */ (collector.address());

const service = fileURLToPath(new URL('service.mjs', import.meta.url));
const child = spawn(process.execPath, ['--import', 'zerotime/opentelemetry/register', service], {
  env: {
    ...process.env,
    PORT: '0',
    ZEROTIME_TRACES_PER_SECOND: RATE,
    ZEROTIME_TRACES_BURST: BURST,
    OTEL_SERVICE_NAME: 'shop',
    OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${port}`,
    OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
    OTEL_METRICS_EXPORTER: 'none',
    OTEL_LOGS_EXPORTER: 'none',
  },
  stdio: ['ignore', 'pipe', 'inherit'],
});
process.once('exit', () => child.kill()); // also if the demo fails
const { value: line, done } = await createInterface(child.stdout)[Symbol.asyncIterator]().next();
if (done) process.exit(1); // the service has said why
const url = `http://127.0.0.1:${line.split(' ')[1]}/`;

const startMs = performance.now();
let sent = 0;
async function order() {
  while (sent < Number(ORDERS)) {
    sent++;
    await (await fetch(url)).text();
  }
}
await Promise.all(Array.from({ length: AT_ONCE }, order));
const seconds = (performance.now() - startMs) / 1000;
child.kill('SIGTERM'); // exports what is left, in all threads
await once(child, 'exit');
collector.close();
collector.closeAllConnections();

const whole = [...traces.values()].filter((names) => names.sort().join() === 'order,price').length;
const most = Number(BURST) + Number(RATE) * seconds;
console.log(`${sent} orders in ${seconds.toFixed(3)} s`);
console.log(`${traces.size} traces kept, at most ${most.toFixed(1)}`);
console.log(`${whole} of them whole, over two threads each`);
const error = Math.sqrt(variance).toFixed(0);
console.log(
  `${traces.size - uncounted} of them stand for ${standFor.toFixed(0)} orders, +- ${error}`,
);
