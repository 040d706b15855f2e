import type { MessagePort } from 'node:worker_threads';
import { asking, consumeBehindGate } from '../consumer.ts';
import { type KeyTask, keysOfTask } from '../key-traffic.ts';

/** The channels to the threads that own the keys, and the keys to request. */
export interface ShardData {
  readonly ports: readonly MessagePort[];
  readonly task: KeyTask;
}

const IN_FLIGHT = 64;

/** Any even spread will do. */
function shardOf(key: string, shards: number): number {
  let sum = 0;
  for (let i = 0; i < key.length; i++) sum = (Math.imul(sum, 31) + key.charCodeAt(i)) | 0;
  return (sum >>> 0) % shards;
}

await consumeBehindGate(({ ports, task }: ShardData) => {
  const { next } = keysOfTask(task);
  const lanes = ports.map((port) => {
    // Replies arrive in the order of the requests.
    const waiting: ((admitted: boolean) => void)[] = [];
    port.on('message', (admitted: boolean) => waiting.shift()?.(admitted));
    return { port, waiting };
  });
  const ask = () =>
    new Promise<boolean>((resolve) => {
      const key = next();
      const lane = lanes[shardOf(key, lanes.length)];
      lane?.waiting.push(resolve);
      lane?.port.postMessage(key);
    });
  return asking(ask, IN_FLIGHT);
});
