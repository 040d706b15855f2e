import { HTTP_PEERS } from './http-peers.ts';
import { OPENTELEMETRY_PEERS } from './opentelemetry-peers.ts';
import { each, type PeerCase } from './peer-case.ts';

const REDIS = `
import { createClient } from 'redis';
import { RedisTokenBucket } from 'zerotime/redis';
const client = createClient({ url: process.env.REDIS_URL });
await client.connect();
const bucket = RedisTokenBucket.create({ client, key: process.env.KEY, rate: 1e-3, burst: 3, timeoutMs: 60_000 });
const admitted = [];
for (let n = 0; n < 5; n++) admitted.push(await bucket.tryConsume());
if (admitted.filter(Boolean).length === 3) console.log('ok');
await client.quit();
`;
const IOREDIS = `
import ioredis from 'ioredis'; // 5.0 has no named export
import { RedisTokenBucket } from 'zerotime/redis';
const client = new (ioredis.Redis ?? ioredis)(process.env.REDIS_URL);
const bucket = RedisTokenBucket.create({ client, key: process.env.KEY, rate: 1e-3, burst: 3, timeoutMs: 60_000 });
const admitted = [];
for (let n = 0; n < 5; n++) admitted.push(await bucket.tryConsume());
if (admitted.filter(Boolean).length === 3) console.log('ok');
await client.quit();
`;
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
