// An API gateway: four processes serve one port. Each tenant has its limits, and the backend gets as many
// requests at once as it bears now. The limits are in one file, so all processes share them.
import cluster from 'node:cluster';
import fastify from 'fastify';
import { RateLimitError } from 'zerotime';
import { rateLimitedFetch } from 'zerotime/fetch';
import { HostRegion } from 'zerotime/host';
import { fastifyHook } from 'zerotime/http';
import { openLimits } from './limits.mjs';

const { BACKEND = 'http://127.0.0.1:9000', PORT = '8080', PROCESSES = '4' } = process.env;
const { REGION = 'gateway' } = process.env;

/** The tenants, by their API keys: in production, from a database. */
const TENANTS = new Map([
  ['key-1', 'acme'],
  ['key-2', 'umbrella'],
]);

/** @param {import('fastify').FastifyRequest} request */
function tenantOf(request) {
  return TENANTS.get(`${request.headers['x-api-key']}`) ?? '';
}

async function serve() {
  const { perTenant, semaphore } = openLimits(HostRegion.open({ path: REGION, bytes: 4_194_304 }));
  // A request waits at most five seconds for its permit, and at most ten in all.
  const fetchBackend = rateLimitedFetch({ semaphore, timeoutMs: 5000, maxWaiting: 500 });

  const app = fastify();
  app.addHook('onRequest', async (request, reply) => {
    if (tenantOf(request) === '') return reply.code(401).send('an x-api-key is missing or wrong\n');
  });
  app.addHook(
    'onRequest',
    fastifyHook({ limiter: perTenant, key: tenantOf, policy: ['s', 'min'] }),
  );
  app.get('*', async (request, reply) => {
    try {
      const signal = AbortSignal.timeout(10_000);
      const response = await fetchBackend(new URL(request.url, BACKEND), { signal });
      const type = response.headers.get('content-type') ?? 'text/plain';
      return reply
        .code(response.status)
        .type(type)
        .send(Buffer.from(await response.arrayBuffer()));
    } catch (error) {
      const isBusy = error instanceof RateLimitError;
      return reply.code(isBusy ? 503 : 502).send(isBusy ? 'the backend is busy\n' : `${error}\n`);
    }
  });
  await app.listen({ port: Number(PORT), host: '127.0.0.1' });
}

if (cluster.isPrimary) {
  for (let i = 0; i < Number(PROCESSES); i++) cluster.fork();
  cluster.on('listening', (worker, { port }) => {
    console.log('listening', port);
    worker.once('exit', () => cluster.fork()); // its permits are back by then, and its counts remain
  });
} else {
  await serve();
}
