// A service with four threads whose traces are sampled at one rate for all of them. Start it with
// node --import zerotime/opentelemetry/register service.mjs
import { createServer } from 'node:http';
import { isMainThread, parentPort, Worker } from 'node:worker_threads';
import { context, propagation, trace } from '@opentelemetry/api';

const { PORT = '8080' } = process.env;
const THREADS = 4;
const tracer = trace.getTracer('shop');

/**
 * Prices an order, in a span below that of the request, which another thread began.
 * @param {{ id: number, carrier: object }} order
 */
function price({ id, carrier }) {
  const span = tracer.startSpan('price', {}, propagation.extract(context.active(), carrier));
  const cents = (id * 7919) % 10_000;
  span.setAttribute('cents', cents).end();
  return { id, cents };
}

function serve() {
  const workers = Array.from({ length: THREADS }, () => new Worker(new URL(import.meta.url)));
  const waiting = new Map();
  for (const worker of workers) {
    worker.on('message', ({ id, cents }) => waiting.get(id)(cents));
  }
  let orders = 0;
  const server = createServer(async (_request, response) => {
    const id = orders++;
    await tracer.startActiveSpan('order', async (span) => {
      const carrier = {};
      propagation.inject(context.active(), carrier);
      workers[id % THREADS]?.postMessage({ id, carrier });
      const cents = await new Promise((resolve) => waiting.set(id, resolve));
      waiting.delete(id);
      span.end();
      response.end(`${cents}\n`);
    });
  }).listen(Number(PORT), '127.0.0.1', () => {
    const address = server.address();
    if (typeof address === 'object') console.log('listening', address?.port);
  });
}

if (isMainThread) serve();
else parentPort?.on('message', (order) => parentPort?.postMessage(price(order)));
