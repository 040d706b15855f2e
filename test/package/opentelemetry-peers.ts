import { each, type PeerCase } from './peer-case.ts';

const OPENTELEMETRY_METRICS = `
import { MeterProvider, MetricReader } from '@opentelemetry/sdk-metrics';
import { TokenBucket } from 'zerotime';
import { LimiterMetrics } from 'zerotime/opentelemetry/metrics';
class OnDemandReader extends MetricReader {
  async onForceFlush() {}
  async onShutdown() {}
}
const reader = new OnDemandReader();
const provider = new MeterProvider({ readers: [reader] });
provider.addMetricReader?.(reader); // 1.8 has no option for it
const limiter = TokenBucket.create({ rate: 1e-3, burst: 3, stats: true });
new LimiterMetrics({ meter: provider.getMeter('shop') }).add('orders', limiter);
for (let n = 0; n < 5; n++) limiter.tryConsume();
const { scopeMetrics } = (await reader.collect()).resourceMetrics;
const calls = scopeMetrics[0].metrics.find(({ descriptor }) => descriptor.name === 'zerotime.limiter.calls');
const [{ attributes, value }] = calls.dataPoints;
if (attributes['zerotime.limiter.name'] === 'orders' && value === 5) console.log('ok');
`;
const OPENTELEMETRY_REGISTER = `
import { createServer } from 'node:http';
import { once } from 'node:events';
import { isMainThread, parentPort, Worker } from 'node:worker_threads';
let others;
if (isMainThread) {
  const server = createServer((request, response) => {
    if (request.url === '/v1/traces') console.log(others === 0 ? 'ok' : others);
    request.resume().once('end', () => response.end());
  }).listen(0);
  await once(server, 'listening');
  server.unref();
  process.env.OTEL_EXPORTER_OTLP_ENDPOINT = 'http://127.0.0.1:' + server.address().port;
  process.env.OTEL_METRICS_EXPORTER = process.env.OTEL_LOGS_EXPORTER = 'none';
  // The first span is kept, and then none for days.
  process.env.ZEROTIME_TRACES_PER_SECOND = '1e-6';
}
await import('zerotime/opentelemetry/register');
const { trace } = await import('@opentelemetry/api');
const span = trace.getTracer('shop').startSpan('order');
span.end();
const isKept = (span.spanContext().traceFlags & 1) === 1;
if (isMainThread) [others] = await once(new Worker(new URL(import.meta.url)), 'message');
else parentPort.postMessage(isKept ? 1 : 0);
`;
const AUTO_INSTRUMENTATIONS = `
import { createRequire } from 'node:module';
process.env.OTEL_METRICS_EXPORTER = process.env.OTEL_LOGS_EXPORTER = 'none';
process.env.OTEL_NODE_RESOURCE_DETECTORS = 'none'; // they would ask for the machine's cloud
process.env.ZEROTIME_TRACES_PER_SECOND = '10';
await import('zerotime/opentelemetry/register');
const { trace } = await import('@opentelemetry/api');
const { createServer, get } = createRequire(import.meta.url)('node:http');
const answer = () => (trace.getActiveSpan()?.isRecording() ? 'ok' : 'not traced');
const server = createServer((_, response) => response.end(answer())).listen(0, () => {
  get({ port: server.address().port }, (response) => {
    response.setEncoding('utf8').on('data', console.log).on('end', () => process.exit());
  });
});
`;

/** Metrics came with 1.3 of the API. */
const OLD_METRICS = ['@opentelemetry/api@1.3.0', '@opentelemetry/sdk-metrics@1.8.0'];

/** The packages of that SDK. */
const OLD_INSTRUMENTATIONS = [
  '@opentelemetry/sdk-node@0.200.0',
  '@opentelemetry/auto-instrumentations-node@0.57.0',
];

/** The packages beside `zerotime/opentelemetry/metrics` and `zerotime/opentelemetry/register`. */
export const OPENTELEMETRY_PEERS: readonly PeerCase[] = [
  { packages: OLD_METRICS, program: OPENTELEMETRY_METRICS },
  ...each('@opentelemetry/sdk-metrics', ['2'], OPENTELEMETRY_METRICS),
  ...each('@opentelemetry/sdk-node', ['0.200.0', '0'], OPENTELEMETRY_REGISTER),
  { packages: OLD_INSTRUMENTATIONS, program: AUTO_INSTRUMENTATIONS },
  ...each('@opentelemetry/auto-instrumentations-node', ['0'], AUTO_INSTRUMENTATIONS),
];
