// One limit over several processes, each with several threads.
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { createClient } from 'redis';

const { REDIS_URL = 'redis://127.0.0.1:6379', PROCESSES = '3', THREADS = '2' } = process.env;
const { KEY = 'fleet', RATE = '1000', BURST = '50', SECONDS = '5' } = process.env;
const limit = { key: KEY, rate: Number(RATE), burst: Number(BURST) };

const client = await createClient({ url: REDIS_URL }).connect();
const serverSeconds = async () => {
  const [seconds, micros] = await client.time();
  return Number(seconds) + Number(micros) / 1e6;
};

const before = await serverSeconds();
const counts = await Promise.all(
  Array.from({ length: Number(PROCESSES) }, async () => {
    const child = fork(new URL('fleet-process.mjs', import.meta.url));
    child.send({ url: REDIS_URL, threads: Number(THREADS), seconds: Number(SECONDS), limit });
    const [admitted] = await once(child, 'message');
    return Number(admitted);
  }),
);
const passed = (await serverSeconds()) - before;

const admitted = counts.reduce((sum, count) => sum + count, 0);
const bound = limit.burst + limit.rate * passed;
console.log(
  `${counts.length} processes x ${THREADS} threads, ${passed.toFixed(3)} s by the server`,
);
console.log(`admitted ${admitted}, ${counts.join(' + ')}; at most ${bound.toFixed(1)}`);
await client.close();
