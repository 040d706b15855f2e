// Receives the spans of tracing-service.mjs and counts them.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { json } from 'node:stream/consumers';

const [setUp = new URL('../../../docs/examples/tracing.mjs', import.meta.url).href] =
  process.argv.slice(2);
const { WORKERS = '4', SPANS = '5000' } = process.env;
const { ZEROTIME_TRACES_PER_SECOND = '200', ZEROTIME_TRACES_BURST = '400' } = process.env;

/**
 * What a backend knows of an operation.
 * @type {Map<string, { kept: number, uncounted: number, sum: number, square: number }>}
 */
const counts = new Map();

/**
 * When the spans began, in seconds.
 * @type {number[]}
 */
const times = [];

/**
 * Adds a span: with the threshold T of 56 bits, it stands for 2^56 / (2^56 - T) spans.
 * @param {{ name: string, startTimeUnixNano: string, traceState?: string }} span
 */
function count({ name, startTimeUnixNano, traceState = '' }) {
  times.push(Number(startTimeUnixNano) / 1e9);
  const found = counts.get(name) ?? { kept: 0, uncounted: 0, sum: 0, square: 0 };
  counts.set(name, found);
  found.kept++;
  const [, th] = /\bth:([0-9a-f]+)/.exec(traceState) ?? [];
  if (th === undefined) {
    found.uncounted++;
    return;
  }
  const stoodFor = 1 / (1 - Number.parseInt(th, 16) / 16 ** th.length);
  found.sum += stoodFor;
  found.square += stoodFor * (stoodFor - 1);
}

const server = createServer(async (request, response) => {
  /** @type {any} */
  const { resourceSpans } = await json(request);
  for (const { scopeSpans } of resourceSpans) {
    for (const { spans } of scopeSpans) spans.forEach(count);
  }
  response.setHeader('content-type', 'application/json').end('{}');
}).listen(0, '127.0.0.1');
await once(server, 'listening');
const { port } = /** @type {import('node:net').AddressInfo} */ (server.address());

const service = new URL('tracing-service.mjs', import.meta.url).pathname;
const child = spawn(process.execPath, ['--import', setUp, service], {
  env: {
    ...process.env,
    ...{ WORKERS, SPANS, ZEROTIME_TRACES_PER_SECOND, ZEROTIME_TRACES_BURST },
    OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${port}`,
    OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
    OTEL_METRICS_EXPORTER: 'none',
    OTEL_LOGS_EXPORTER: 'none',
  },
  stdio: ['ignore', 'inherit', 'inherit'],
});
const [code] = await once(child, 'exit');
server.close();
process.exitCode = code;

let kept = 0;
for (const [name, found] of [...counts].sort()) {
  const error = Math.sqrt(found.square);
  const counted = `stand for ${found.sum.toFixed(1)} with a standard error of ${error.toFixed(1)}`;
  console.log(`${name}: ${found.kept} kept, ${found.uncounted} uncounted, ${counted}`);
  kept += found.kept;
}
const seconds = Math.max(...times) - Math.min(...times);
const most = Number(ZEROTIME_TRACES_BURST) + Number(ZEROTIME_TRACES_PER_SECOND) * seconds;
const made = Number(WORKERS) * Number(SPANS);
console.log(`${made} made; ${kept} kept in ${seconds.toFixed(3)} s, at most ${most.toFixed(1)}`);
