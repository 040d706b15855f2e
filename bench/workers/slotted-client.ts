import { once } from 'node:events';
import { isMainThread, parentPort, Worker } from 'node:worker_threads';
import { Pool } from 'undici';
import { HostRegion } from '../../src/host.ts';
import { Semaphore } from '../../src/index.ts';

/** The argument of the process, as JSON. */
export interface SlottedClient {
  readonly url: string;
  /** The file of the region. */
  readonly path: string;
  /** A number, or none if it adapts. */
  readonly permits?: number;
  readonly threads: number;
  /** How many requests each thread would like to have in flight. */
  readonly callers: number;
}

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
  const semaphore = Semaphore.open(
    region,
    'slots',
    permits === undefined ? { permits: { min: 1, max: 200 }, adapt: 'gradient' } : { permits },
  );
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
