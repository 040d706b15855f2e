// docs/examples/serve.ts: one limit for each client, and several threads that serve.
import { Worker } from 'node:worker_threads';
import { KeyedTokenBucket, per } from 'zerotime';

const [script = 'node-http.js'] = process.argv.slice(2);
const { HOST = '127.0.0.1', PORT = '8080', THREADS = '4' } = process.env;
const { BURST = '10', PER_HOUR = '600' } = process.env;

const perClient = KeyedTokenBucket.create({
  rate: per(Number(PER_HOUR), 'hour'),
  burst: Number(BURST),
  capacity: 100_000,
});

for (let thread = 0; thread < Number(THREADS); thread++) {
  const port = PORT === '0' ? 0 : Number(PORT) + thread; // 0: any free one
  new Worker(new URL(script, import.meta.url), {
    workerData: { perClient: perClient.handle, host: HOST, port },
  });
}
