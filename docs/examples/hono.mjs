// docs/examples/hono.mjs: a thread that serves with hono.
import { workerData } from 'node:worker_threads';
import { createAdaptorServer } from '@hono/node-server';
import { Hono } from 'hono';
import { KeyedTokenBucket } from 'zerotime';
import { honoMiddleware } from 'zerotime/http';

const limiter = KeyedTokenBucket.attach(workerData.perClient);
const app = new Hono();
app.use(honoMiddleware({ limiter }));
app.get('/', (context) => context.text('Hello\n'));

const server = createAdaptorServer({ fetch: app.fetch });
server.listen(workerData.listen, () => console.log('listening', server.address()));
