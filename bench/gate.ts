import { parentPort, workerData } from 'node:worker_threads';
import { type Consumer, warmUp } from './consumer.ts';

/** What a consuming thread is started with. */
export interface ConsumerData<Shared> {
  /** What the peer gives to its threads. */
  readonly shared: Shared;
  /** Opens when it is no longer 0. */
  readonly gate: Int32Array<SharedArrayBuffer>;
  readonly warmUpMs: number;
  readonly measureMs: number;
}

/**
 * The life of a consuming thread: warms up, says so, waits for the gate, and reports what it
 * counted behind it. `open` makes of the shared value what consumes.
 */
export async function consumeBehindGate<Shared>(
  open: (shared: Shared) => Consumer | Promise<Consumer>,
): Promise<void> {
  const { shared, gate, warmUpMs, measureMs }: ConsumerData<Shared> = workerData;
  const consumer = await open(shared);
  await warmUp(consumer, warmUpMs);
  parentPort?.postMessage('warm');
  Atomics.wait(gate, 0, 0);
  parentPort?.postMessage(await consumer(measureMs));
}
