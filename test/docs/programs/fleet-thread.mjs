// One of the threads, on a connection of its own.
import { parentPort, workerData } from 'node:worker_threads';
import { createClient } from 'redis';
import { RedisTokenBucket } from 'zerotime/redis';

const { url, seconds, limit } = workerData;
const client = await createClient({ url }).connect();
const bucket = RedisTokenBucket.create({ client, ...limit });

let admitted = 0;
const end = performance.now() + seconds * 1000;
while (performance.now() < end) {
  if (await bucket.tryConsume()) admitted++;
}
parentPort?.postMessage(admitted);
await client.close();
