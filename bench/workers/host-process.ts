import { createClient } from 'redis';
import { HostRegion } from '../../src/host.ts';
import { TokenBucket } from '../../src/index.ts';
import { RedisTokenBucket } from '../../src/integrations/redis.ts';
import { asking, type Consumer, type ConsumerReport, calling, warmUp } from '../consumer.ts';
import type { Load } from '../loads.ts';

/** The argument of a process, as JSON. */
export interface ProcessData {
  /** A region's file, or a server's socket. */
  readonly path: string;
  readonly store: 'region' | 'redis';
  /** The same for all processes of one run. */
  readonly key: string;
  readonly load: Load;
  readonly warmUpMs: number;
  readonly measureMs: number;
}

export type ProcessMessage = 'warm' | ConsumerReport;

const data: ProcessData = JSON.parse(process.argv[2] ?? '');

function inRegion({ path, key, load: { rate, burst, initial } }: ProcessData): Consumer {
  const bucket = TokenBucket.open(HostRegion.open({ path }), key, { rate, burst, initial });
  return calling(() => bucket.tryConsume());
}

async function onServer({ path, key, load: { rate, burst, initial } }: ProcessData) {
  const client = await createClient({ socket: { path, tls: false } }).connect();
  const bucket = RedisTokenBucket.create({ client, key, rate, burst });
  if (initial === 0) await bucket.consumeOrDrain(burst);
  return asking(() => bucket.tryConsume());
}

const consumer = data.store === 'region' ? inRegion(data) : await onServer(data);
await warmUp(consumer, data.warmUpMs);
process.on('message', async () => {
  process.send?.(await consumer(data.measureMs));
  process.exit();
});
process.send?.('warm');
