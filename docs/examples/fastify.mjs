// docs/examples/fastify.mjs: a thread that serves with fastify.
import { workerData } from 'node:worker_threads';
import fastify from 'fastify';
import { KeyedTokenBucket } from 'zerotime';
import { fastifyPlugin } from 'zerotime/http';

const limiter = KeyedTokenBucket.attach(workerData.perClient);
const app = fastify();
await app.register(fastifyPlugin, { limiter });
app.get('/', async () => 'Hello\n');

await app.listen(workerData.listen);
console.log('listening', app.server.address());
