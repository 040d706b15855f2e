import { RateLimiterCluster } from 'rate-limiter-flexible';
import { asking, type ConsumerReport, warmUp } from '../consumer.ts';
import { consumePoints, flexibleOptions } from '../flexible.ts';
import { type KeyTask, keysOfTask } from '../key-traffic.ts';
import type { Load } from '../loads.ts';

/** The argument of a cluster process, as JSON. */
export interface ClusterData {
  /** The same for all processes of one run. */
  readonly name: string;
  readonly load: Load;
  readonly isFirst: boolean;
  /** The keys to ask for, if there are many. */
  readonly task?: KeyTask | undefined;
  readonly warmUpMs: number;
  readonly measureMs: number;
}

/** Sent in the field `bench` of a message, to tell it from the limiter's own messages. */
export type ClusterMessage = 'warm' | ConsumerReport;

const KEY = 'one for all';

const { name, load, isFirst, task, warmUpMs, measureMs }: ClusterData = JSON.parse(
  process.argv[2] ?? '',
);
const limiter = new RateLimiterCluster({ ...flexibleOptions(load), keyPrefix: name });
const taken = load.burst - load.initial;
if (isFirst && taken > 0) await consumePoints(limiter, KEY, taken);
const next = task === undefined ? () => KEY : keysOfTask(task).next;
const consumer = asking(() => consumePoints(limiter, next()));
await warmUp(consumer, warmUpMs);

function say(bench: ClusterMessage): void {
  process.send?.({ bench });
}

process.on('message', async (message: unknown) => {
  if (message === 'go') say(await consumer(measureMs));
});
say('warm');
