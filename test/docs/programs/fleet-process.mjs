// One of the processes, which starts its threads and adds up.
import { once } from 'node:events';
import { Worker } from 'node:worker_threads';

const [{ threads, ...task }] = await once(process, 'message');
const counts = await Promise.all(
  Array.from({ length: threads }, async () => {
    const thread = new Worker(new URL('fleet-thread.mjs', import.meta.url), { workerData: task });
    const [admitted] = await once(thread, 'message');
    return Number(admitted);
  }),
);
process.send?.(counts.reduce((sum, count) => sum + count, 0));
process.disconnect();
