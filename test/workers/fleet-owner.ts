import { once } from 'node:events';
import { parentPort, workerData } from 'node:worker_threads';
import { TokenBucket } from '../../src/index.ts';
import { FleetBucket } from '../../src/integrations/redis.ts';

/** Ways in which the thread that created a fleet bucket ends, or stops answering. */
export type FleetEnd =
  | 'terminated'
  | 'throwing'
  | 'exiting'
  | 'killed: out of memory'
  | 'idle'
  | 'blocked'
  | 'after a timeout';

/** Makes a fleet bucket, and then ends. */
export interface FleetOwner {
  readonly source: TokenBucket['handle'];
  readonly stock: number;
  readonly end: FleetEnd;
  /** One word, for which it waits while it is blocked. */
  readonly gate: SharedArrayBuffer;
}

const { source, stock, end, gate } = workerData as FleetOwner;
const bucket = TokenBucket.attach(source);
const fleet = await FleetBucket.create({
  source: {
    consumeOrDrain: async (n) => (end === 'after a timeout' ? 0 : bucket.consumeOrDrain(n)),
    returnTokens: async (n) => bucket.returnTokens(n),
  },
  stock,
});

async function comeToAnEnd(): Promise<void> {
  if (end === 'throwing') throw new Error('on purpose');
  if (end === 'exiting') process.exit(0);
  if (end === 'blocked') Atomics.wait(new Int32Array(gate), 0, 0);
  const hoard: number[][] = [];
  while (end === 'killed: out of memory') hoard.push(new Array<number>(100_000).fill(0.5));
}

if (end === 'after a timeout') {
  // The tokens of the first are for the second, so they are awaited, and never come.
  const waits = [1, 20].map((timeoutMs) => fleet.wait(1, { timeoutMs }));
  await Promise.allSettled(waits);
} else {
  parentPort?.postMessage(fleet.handle);
  // A port on which nobody listens does not keep the thread alive.
  if (parentPort !== null) await once(parentPort, 'message');
  await comeToAnEnd();
  if (end === 'blocked' && parentPort !== null) await once(parentPort, 'message');
}
