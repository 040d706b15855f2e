import { once } from 'node:events';
import { isMainThread, parentPort, Worker } from 'node:worker_threads';
import { Pool } from 'undici';
import { HostRegion } from '../../src/host.ts';
import { Semaphore } from '../../src/index.ts';
import { SEMAPHORE, type SlottedClient, slotPermits } from './slotted-permits.ts';

// Threads whose callers each send a request as soon as the last one is answered and a permit is free.
const { url, path, permits, threads, callers }: SlottedClient = JSON.parse(process.argv[2] ?? '');
if (isMainThread && threads > 1) {
  const started = Array.from({ length: threads }, () =>
    once(new Worker(new URL(import.meta.url), { argv: process.argv.slice(2) }), 'message'),
  );
  await Promise.all(started);
  process.send?.('started');
} else {
  const region = HostRegion.open({ path });
  const semaphore = Semaphore.open(region, SEMAPHORE, slotPermits(permits));
  const pool = new Pool(url, { connections: callers });
  const send = async () => {
    const { body } = await pool.request({ path: '/', method: 'GET' });
    await body.text();
  };
  await send();
  if (parentPort === null) process.send?.('started');
  else parentPort.postMessage('started');
  for (let caller = 0; caller < callers; caller++) {
    void (async () => {
      for (;;) await semaphore.run(send);
    })();
  }
}
