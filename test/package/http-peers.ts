import { each, type PeerCase } from './peer-case.ts';

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
export const HTTP_PEERS: readonly PeerCase[] = [
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
