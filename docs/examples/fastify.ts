// docs/examples/fastify.ts: a thread that serves with fastify.
import { workerData } from 'node:worker_threads';
import fastify from 'fastify';
import { KeyedTokenBucket, rateLimitHeaders } from 'zerotime';

const { host, port } = workerData;
const perClient = KeyedTokenBucket.attach(workerData.perClient);

const app = fastify();
app.addHook('onRequest', async (request, reply) => {
  const decision = perClient.decide(request.ip);
  reply.headers({ ...rateLimitHeaders(decision) });
  if (!decision.allowed) return reply.code(429).send('Too many requests\n');
});
app.get('/', async () => 'Hello\n');

await app.listen({ host, port });
console.log('listening', app.server.address());
