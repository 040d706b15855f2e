import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { parentPort, threadId, workerData } from 'node:worker_threads';
import type express from 'express';
import type { FastifyInstance } from 'fastify';
import { ManualClock, Region } from '../../src/index.ts';
import { expressRateLimitStore, fastifyRateLimitStore } from '../../src/integrations/http.ts';
import { BAN, LIMIT, type Serving, WINDOW_MS } from '../support/http-store-limits.ts';

// A thread that serves with the real middleware of others, over a store that all threads share.

const { middleware, region: handle, listen } = workerData as Serving;
const region = Region.attach(handle);
const shared = { region, capacity: 100, clock: ManualClock.open(region, 'clock') };

function clientOf(headers: Readonly<Record<string, unknown>>): string {
  return String(headers['x-client']);
}

// A thread loads one of the frameworks only.
async function withExpress(): Promise<Server> {
  const { rateLimit } = await import('express-rate-limit');
  const app = (await import('express')).default();
  const settings = {
    windowMs: WINDOW_MS,
    limit: LIMIT,
    standardHeaders: 'draft-8',
    keyGenerator: ({ headers }: express.Request) => clientOf(headers),
  } as const;
  const limit = rateLimit({ ...settings, store: expressRateLimitStore(shared) });
  const strict = rateLimit({
    ...settings,
    limit: 1,
    store: expressRateLimitStore({ ...shared, name: 'strict' }),
  });
  const failures = rateLimit({
    ...settings,
    limit: 2,
    skipSuccessfulRequests: true,
    store: expressRateLimitStore({ ...shared, name: 'failures' }),
  });
  const successes = rateLimit({
    ...settings,
    limit: 2,
    skipFailedRequests: true,
    store: expressRateLimitStore({ ...shared, name: 'successes' }),
  });
  const limiters = { limit, failures, successes };
  const store = expressRateLimitStore(shared);
  app.use((_, response, next) => {
    response.set('x-thread', `${threadId}`);
    next();
  });
  app.get('/', limit, (request, response) => {
    response.json((request as { rateLimit?: unknown }).rateLimit);
  });
  app.get('/both', limit, strict, (_, response) => void response.send('both'));
  const answer: express.RequestHandler = ({ query }, response) =>
    void response.status(Number(query['status'])).send('answer');
  app.get('/failures', failures, answer);
  app.get('/successes', successes, answer);
  app.get('/key', async ({ headers, query }, response) => {
    const { of = 'limit' } = query as { readonly of?: keyof typeof limiters };
    response.json((await limiters[of].getKey(clientOf(headers))) ?? null);
  });
  app.post('/reset', async ({ headers }, response) => {
    await limit.resetKey(clientOf(headers));
    response.send('reset');
  });
  app.post('/reset-all', (_, response) => {
    store.resetAll();
    response.send('reset');
  });
  return createServer(app);
}

async function routesOf(app: FastifyInstance): Promise<void> {
  const events: string[] = [];
  await app.register(import('@fastify/rate-limit'), {
    max: LIMIT,
    timeWindow: WINDOW_MS,
    ban: BAN,
    cache: 1,
    keyGenerator: ({ headers }) => clientOf(headers),
    onExceeding: (_, key) => void events.push(`${key} exceeding`),
    onExceeded: (_, key) => void events.push(`${key} exceeded`),
    onBanReach: (_, key) => void events.push(`${key} banned`),
    store: fastifyRateLimitStore(shared),
  });
  app.addHook('onSend', async (_, reply) => void reply.header('x-thread', threadId));
  app.get('/', async () => 'hello');
  app.get('/also', async () => 'hello');
  const own = (rateLimit: object) => ({ config: { rateLimit: { ban: 100, ...rateLimit } } });
  app.get('/own', own({ max: 2 }), async () => 'hello');
  app.get('/short', own({ max: 2, timeWindow: WINDOW_MS / 2 }), async () => 'hello');
  app.get('/asked', own({ max: async () => 2, timeWindow: () => 1000 }), async () => 'hello');
  app.get('/one', own({ max: 3, groupId: 'pair' }), async () => 'hello');
  app.get('/two', own({ max: 3, groupId: 'pair' }), async () => 'hello');
  app.get('/free', { config: { rateLimit: false } }, async () => events.splice(0));
  const check = app.createRateLimit({ max: 2 });
  const other = app.createRateLimit({ max: 2 });
  const route = { config: { rateLimit: false } } as const;
  app.get('/peek', route, async (request) => check(request, { increment: false }));
  app.get('/take', route, async (request) => check(request));
  app.get('/other', route, async (request) => other(request));
}

async function withFastify(): Promise<Server> {
  const app = (await import('fastify')).default();
  await routesOf(app);
  await app.ready();
  return app.server;
}

const SERVERS = { 'express-rate-limit': withExpress, '@fastify/rate-limit': withFastify };

const server = await SERVERS[middleware]();
server.listen(listen);
await once(server, 'listening');
parentPort?.postMessage((server.address() as AddressInfo).port);
