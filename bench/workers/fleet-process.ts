import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { createClient } from 'redis';
import { FleetBucket, type FleetStats, RedisTokenBucket } from '../../src/integrations/redis.ts';
import type { FleetLog, FleetStretch, FleetThreadTask } from './fleet-thread.ts';

/** The task of one process of a fleet, whose threads spend its stock. */
export interface FleetProcessTask {
  /** The server's address. */
  readonly connection:
    | { readonly url: string }
    | { readonly socket: { readonly path: string; readonly tls: false } };
  readonly key: string;
  readonly rate: number;
  readonly burst: number;
  readonly stock: number;
  readonly threads: number;
  /** Tokens that each thread requests per millisecond. */
  readonly perMs: number;
}

/** The final report of a process. */
export interface FleetProcessReport {
  readonly logs: readonly FleetLog[];
  readonly stats: FleetStats;
}

// Either the parent process is gone or it has received the report.
process.once('disconnect', () => process.exit());
process.once('message', async (task: FleetProcessTask) => {
  const { connection, key, rate, burst, stock, threads, perMs } = task;
  const client = createClient(connection);
  client.on('error', () => undefined);
  await client.connect();
  const whenUnreachable = 'throw';
  // Long enough for a busy machine.
  const timeoutMs = 30_000;
  const limit = { rate, burst };
  const source = RedisTokenBucket.create({ client, key, ...limit, timeoutMs, whenUnreachable });
  const fleet = await FleetBucket.create({ source, stock });
  const workerData: FleetThreadTask = { handle: fleet.handle, perMs };
  const script = new URL('./fleet-thread.js', import.meta.url);
  const workers = Array.from({ length: threads }, () => new Worker(script, { workerData }));
  await Promise.all(workers.map((worker) => once(worker, 'message')));
  process.send?.('ready');

  const [stretch] = (await once(process, 'message')) as [FleetStretch];
  const logs = await Promise.all(
    workers.map(async (worker) => {
      worker.postMessage(stretch);
      const [log] = (await once(worker, 'message')) as [FleetLog];
      return log;
    }),
  );
  await fleet.close();
  client.destroy();
  const report: FleetProcessReport = { logs, stats: fleet.stats() };
  process.send?.(report, undefined, undefined, () => process.disconnect());
});
