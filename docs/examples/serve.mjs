// docs/examples/serve.mjs: one limit for each client, and several threads that serve one port.
import { Worker } from 'node:worker_threads';
import { KeyedTokenBucket, per } from 'zerotime';

const [script = 'node-http.mjs'] = process.argv.slice(2);
const { HOST = '127.0.0.1', PORT = '8080', THREADS = '4' } = process.env;
const { BURST = '10', PER_HOUR = '600' } = process.env;

const perClient = KeyedTokenBucket.create({
  rate: per(Number(PER_HOUR), 'hour'),
  burst: Number(BURST),
  capacity: 100_000,
});

// Linux spreads connections over all that listen on a port with `reusePort`. Older releases of
// Node.js ignore the option: there each thread has a port of its own, from PORT on.
const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
const isNewEnough = major > 23 || (major === 23 && minor >= 1) || (major === 22 && minor >= 12);
const reusePort = process.platform === 'linux' && isNewEnough;

for (let thread = 0; thread < Number(THREADS); thread++) {
  const port = reusePort || PORT === '0' ? Number(PORT) : Number(PORT) + thread; // 0: any free one
  new Worker(new URL(script, import.meta.url), {
    workerData: { perClient: perClient.handle, listen: { host: HOST, port, reusePort } },
  });
}
