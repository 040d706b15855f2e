/** A version of an optional peer, and a program that uses its integration and prints `ok`. */
export interface PeerCase {
  readonly packages: readonly string[];
  /** The Node.js that the peer needs. Default: the one that runs this. */
  readonly node?: number;
  readonly program: string;
}

/** The program beside each of these versions. */
function each(name: string, versions: readonly string[], program: string): PeerCase[] {
  return versions.map((version) => ({ packages: [`${name}@${version}`], program }));
}

/** What the programs of frameworks have in common: two requests pass, the third is refused. */
const ASKING = `
import { KeyedTokenBucket } from 'zerotime';
const limiter = KeyedTokenBucket.create({ rate: 1e-3, burst: 2, capacity: 10 });
async function ask(port, path = '/') {
  const all = [];
  for (let n = 0; n < 3; n++) {
    const { status, headers } = await fetch('http://127.0.0.1:' + port + path);
    all.push([status, headers.get('ratelimit')?.split(';')[1]].join(' '));
  }
  return all.join();
}
`;
const EXPRESS = `
import express from 'express';
import { createServer } from 'node:http';
import { once } from 'node:events';
import { expressMiddleware } from 'zerotime/http';
${ASKING}
const app = express();
app.use(expressMiddleware({ limiter }));
app.get('/', (_, response) => response.end('hello'));
const server = createServer(app).listen(0, '127.0.0.1');
await once(server, 'listening');
const got = await ask(server.address().port);
console.log(got === '200 r=1,200 r=0,429 r=0' ? 'ok' : got);
process.exit();
`;
const FASTIFY = `
import fastify from 'fastify';
import { fastifyHook, fastifyPlugin } from 'zerotime/http';
${ASKING}
const app = fastify();
await app.register(async (part) => {
  await part.register(fastifyPlugin, { limiter });
  part.get('/', async () => 'hello');
});
const own = KeyedTokenBucket.create({ rate: 1e-3, burst: 1, capacity: 10 });
app.get('/own', { onRequest: fastifyHook({ limiter: own }) }, async () => 'hello');
await app.listen({ port: 0, host: '127.0.0.1' });
const { port } = app.server.address();
const got = [await ask(port), await ask(port, '/own')].join();
console.log(got === '200 r=1,200 r=0,429 r=0,200 r=0,429 r=0,429 r=0' ? 'ok' : got);
process.exit();
`;
const HONO = `
import { Hono } from 'hono';
import { honoMiddleware } from 'zerotime/http';
import { KeyedTokenBucket } from 'zerotime';
const limiter = KeyedTokenBucket.create({ rate: 1e-3, burst: 2, capacity: 10 });
const app = new Hono();
app.use('*', honoMiddleware({ limiter }));
app.get('/', (context) => context.text('hello'));
const incoming = { socket: { remoteAddress: '192.0.2.1' }, headers: {} };
const all = [];
for (let n = 0; n < 3; n++) {
  const { status, headers } = await app.fetch(new Request('http://localhost/'), { incoming });
  all.push([status, headers.get('ratelimit')?.split(';')[1]].join(' '));
}
const got = [all.join(), limiter.available('192.0.2.1') < 1].join();
console.log(got === '200 r=1,200 r=0,429 r=0,true' ? 'ok' : got);
`;
const EXPRESS_RATE_LIMIT = `
import express from 'express';
import { rateLimit } from 'express-rate-limit';
import { createServer } from 'node:http';
import { once } from 'node:events';
import { Region } from 'zerotime';
import { expressRateLimitStore } from 'zerotime/http';
const region = Region.create();
const limit = () => rateLimit({ windowMs: 1e9, max: 2, store: expressRateLimitStore({ region, capacity: 50 }) });
const ports = [];
for (const each of [limit(), limit()]) {
  const app = express();
  app.use(each);
  app.get('/', (_, response) => response.end('hello'));
  const server = createServer(app).listen(0, '127.0.0.1');
  await once(server, 'listening');
  ports.push(server.address().port);
}
const all = [];
for (const port of [...ports, ...ports]) {
  const { status, headers } = await fetch('http://127.0.0.1:' + port);
  all.push([status, headers.get('x-ratelimit-remaining')].join(' '));
}
const got = all.join();
console.log(got === '200 1,200 0,429 0,429 0' ? 'ok' : got);
process.exit();
`;
const FASTIFY_RATE_LIMIT = `
import rateLimit from '@fastify/rate-limit';
import fastify from 'fastify';
import { Region } from 'zerotime';
import { fastifyRateLimitStore } from 'zerotime/http';
const region = Region.create();
const all = [];
for (const app of [fastify(), fastify()]) {
  const store = fastifyRateLimitStore({ region, capacity: 50 });
  await app.register(rateLimit, { max: 2, timeWindow: 1e9, ban: 1, store });
  app.get('/', async () => 'hello');
  app.get('/own', { config: { rateLimit: { max: 1 } } }, async () => 'hello');
  for (const path of ['/', '/', '/own']) all.push((await app.inject(path)).statusCode);
}
const got = all.join();
console.log(got === '200,200,200,429,403,429' ? 'ok' : got);
`;

/** Frameworks, and middleware with a store of `zerotime/http`. */
const HTTP_PEERS: readonly PeerCase[] = [
  ...each('express', ['4.0.0', '4', '5.0.0', '5'], EXPRESS),
  ...each('fastify', ['4.0.0', '4', '5.0.0', '5'], FASTIFY),
  ...each('hono', ['4.0.0', '4'], HONO),
  ...['7.0.0', '7', '8.0.0', '8'].map((version) => ({
    packages: [`express-rate-limit@${version}`, 'express@4'],
    program: EXPRESS_RATE_LIMIT,
  })),
  ...['10.0.0', '10', '11.0.0', '11'].map((version) => ({
    packages: [`@fastify/rate-limit@${version}`, 'fastify@5'],
    program: FASTIFY_RATE_LIMIT,
  })),
];

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
const OPENTELEMETRY_PEERS: readonly PeerCase[] = [
  { packages: OLD_METRICS, program: OPENTELEMETRY_METRICS },
  ...each('@opentelemetry/sdk-metrics', ['2'], OPENTELEMETRY_METRICS),
  ...each('@opentelemetry/sdk-node', ['0.200.0', '0'], OPENTELEMETRY_REGISTER),
  { packages: OLD_INSTRUMENTATIONS, program: AUTO_INSTRUMENTATIONS },
  ...each('@opentelemetry/auto-instrumentations-node', ['0'], AUTO_INSTRUMENTATIONS),
];

/** A program that takes tokens with a client of Redis. */
const redisProgram = (connecting: string) => `
import { RedisTokenBucket } from 'zerotime/redis';
${connecting}
const bucket = RedisTokenBucket.create({ client, key: process.env.KEY, rate: 1e-3, burst: 3, timeoutMs: 60_000 });
const admitted = [];
for (let n = 0; n < 5; n++) admitted.push(await bucket.tryConsume());
if (admitted.filter(Boolean).length === 3) console.log('ok');
await client.quit();
`;
const REDIS = redisProgram(`import { createClient } from 'redis';
const client = createClient({ url: process.env.REDIS_URL });
await client.connect();`);
const IOREDIS = redisProgram(`import ioredis from 'ioredis'; // 5.0 has no named export
const client = new (ioredis.Redis ?? ioredis)(process.env.REDIS_URL);`);
const PISCINA = `
import { isMainThread } from 'node:worker_threads';
import { Piscina } from 'piscina';
import { ManualClock, TokenBucket } from 'zerotime';
import { throttle } from 'zerotime/piscina';
if (isMainThread) {
  const clock = ManualClock.create();
  const limiter = TokenBucket.create({ rate: 100, burst: 2, clock });
  const pool = new Piscina({ filename: import.meta.url, maxThreads: 2 });
  const paced = throttle(pool, limiter, { maxQueue: 1 });
  const tasks = [paced.run(1), paced.run(2), paced.run(3)];
  const refused = await paced.run(4).catch((error) => error.code);
  await Promise.all(tasks.slice(0, 2));
  clock.advance(10);
  if ((await tasks[2]) === 9 && refused === 'ERR_QUEUE_FULL') console.log('ok');
  await pool.destroy();
}
export default (n) => n * n;
`;
const TINYPOOL = PISCINA.replace(
  "import { Piscina } from 'piscina';",
  "import { Tinypool as Piscina } from 'tinypool';",
).replace('zerotime/piscina', 'zerotime/tinypool');
const PROMETHEUS = `
import prometheus from 'prom-client';
import { TokenBucket } from 'zerotime';
import { LimiterMetrics } from 'zerotime/prometheus';
const limiter = TokenBucket.create({ rate: 1e-3, burst: 3, stats: true });
const register = new prometheus.Registry();
new LimiterMetrics({ register }).add('orders', limiter);
for (let n = 0; n < 5; n++) limiter.tryConsume();
const text = await register.metrics();
if (text.includes('zerotime_admitted_tokens_total{limiter="orders"} 3')) console.log('ok');
`;
const OPENTELEMETRY = `
import { ROOT_CONTEXT, SamplingDecision } from '@opentelemetry/api';
import { ManualClock, TokenBucket } from 'zerotime';
import {
  ConsistentRateLimitingSampler,
  RateLimitingSampler,
  RemoteSampler,
} from 'zerotime/opentelemetry';
const traceId = '1'.repeat(18) + 'f'.repeat(14);
const sampled = (sampler) =>
  [1, 2, 3, 4, 5]
    .map(() => sampler.shouldSample(ROOT_CONTEXT, traceId, 'a', 0, {}, []).decision)
    .filter((decision) => decision === SamplingDecision.RECORD_AND_SAMPLED).length;
const first = new RateLimitingSampler(TokenBucket.create({ rate: 1e-3, burst: 3 }));
const limits = { rate: 1, burst: 3, minimum: 1, clock: ManualClock.create() };
const counted = ConsistentRateLimitingSampler.create(limits);
const endpoint = 'http://127.0.0.1:1';
const options = { service: 'a', endpoint, initialProbability: 1, onError() {} };
const remote = RemoteSampler.create(options);
const got = [first, counted, remote].map(sampled).join();
console.log(got === '3,3,5' && !(await remote.poll()) ? 'ok' : got);
`;
/** From 1.10 on: older ones ignore the tracestate that a sampler returns. */
const OPENTELEMETRY_SDK = `
import sdk from '@opentelemetry/sdk-trace-base'; // some versions have no named exports
import { ManualClock } from 'zerotime';
import { ConsistentRateLimitingSampler } from 'zerotime/opentelemetry';
const limits = { rate: 1, burst: 30, minimum: 1, clock: ManualClock.create() };
const sampler = ConsistentRateLimitingSampler.create(limits);
const kept = [];
const noop = async () => {};
const onEnd = (span) => kept.push(span.spanContext().traceState?.serialize());
const processor = { onStart() {}, onEnd, forceFlush: noop, shutdown: noop };
const provider = new sdk.BasicTracerProvider({ sampler, spanProcessors: [processor] });
const tracer = provider.getTracer('peer');
tracer.startSpan('hot').end();
if (kept.length === 0) provider.addSpanProcessor(processor); // 1.x
for (let n = 0; n < 1000; n++) tracer.startSpan('hot').end();
const isKept = kept.length > 10 && kept.length <= 30;
console.log(isKept && kept[0] === 'ot=th:0' ? 'ok' : kept.join());
`;
const UNDICI = `
import { createServer } from 'node:http';
import { once } from 'node:events';
import { Agent, fetch, interceptors, request } from 'undici';
import { ManualClock, Semaphore, TokenBucket } from 'zerotime';
import { rateLimit } from 'zerotime/undici';
const settled = async () => { for (let n = 0; n < 50; n++) await new Promise(setImmediate); };
let busy = true;
const server = createServer((_, response) => {
  response.writeHead(busy ? 429 : 200, { 'retry-after': '1' }).end('text');
  busy = false;
}).listen(0);
await once(server, 'listening');
const url = 'http://127.0.0.1:' + server.address().port;
const clock = ManualClock.create();
const limiter = TokenBucket.create({ rate: 1e-3, burst: 4, clock });
const semaphore = Semaphore.create({ permits: 1 });
const agent = new Agent();
const retry = interceptors.retry({ minTimeout: 1, maxTimeout: 1, retryAfter: false });
const dispatcher = agent.compose(rateLimit({ limiter, semaphore }), retry);
const passing = setInterval(() => clock.advance(100), 5); // the retry waits for a second of the clock
const retried = await request(url, { dispatcher });
clearInterval(passing);
const texts = [await retried.body.text(), await (await fetch(url, { dispatcher })).text()];
const taken = limiter.available() < 1.5 && semaphore.inUse() === 0;
await (await request(url, { dispatcher })).body.text();
const waits = [
  (signal) => request(url, { dispatcher, signal }),
  (signal) => fetch(url, { dispatcher, signal }),
].map(async (send) => {
  const end = new AbortController();
  const sent = send(end.signal).catch((error) => error.name);
  await settled();
  end.abort();
  return sent;
});
const aborted = await Promise.all(waits);
const got = [...texts, taken, ...aborted, semaphore.inUse()].join();
console.log(got === 'text,text,true,AbortError,AbortError,0' ? 'ok' : got);
await agent.destroy();
server.close();
`;

const KOFFI = `
import { rmSync } from 'node:fs';
import { TokenBucket } from 'zerotime';
import { HostRegion } from 'zerotime/host';
const path = '/dev/shm/zerotime-peer-' + process.pid;
const region = HostRegion.open({ path, binding: 'koffi' });
const bucket = TokenBucket.open(region, 'api', { rate: 1e-3, burst: 3 });
if (bucket.consumeOrDrain(5) === 3 && region.processes()[0].isAlive) console.log('ok');
region.close();
rmSync(path);
`;

/** The oldest and the newest version of each major version from those in src/peers.ts on. */
export const PEERS: readonly PeerCase[] = [
  ...each('redis', ['4.0.0', '4', '5.0.0', '5', '6.0.0', '6'], REDIS),
  ...each('ioredis', ['5.0.0', '5', '6.0.0', '6'], IOREDIS),
  ...each('piscina', ['4.0.0', '4', '5.0.0', '5'], PISCINA),
  ...each('tinypool', ['1.0.0', '1', '2.0.0', '2'], TINYPOOL),
  ...each('koffi', ['2.16.0', '2', '3.0.0', '3'], KOFFI),
  ...each('prom-client', ['14.0.0', '14', '15.0.0', '15'], PROMETHEUS),
  ...each('@opentelemetry/api', ['1.1.0', '1'], OPENTELEMETRY),
  ...['@1.10.0', '@1', '@2'].map((version) => ({
    packages: [
      `@opentelemetry/sdk-trace-base${version}`,
      `@opentelemetry/api@${version === '@1.10.0' ? '1.4.0' : '1'}`,
    ],
    program: OPENTELEMETRY_SDK,
  })),
  ...HTTP_PEERS,
  ...OPENTELEMETRY_PEERS,
  ...each('undici', ['6.10.0', '6', '7.0.0', '7'], UNDICI),
  ...each('undici', ['8.0.0', '8'], UNDICI).map((peer) => ({ ...peer, node: 22 })),
];
