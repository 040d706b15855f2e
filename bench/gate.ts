import { parentPort, workerData } from 'node:worker_threads';
import { type Consumer, warmUp } from './consumer.ts';

/** The `workerData` of a consuming thread. */
export interface ConsumerData<Shared> {
  /** The data that the peer shares with its threads. */
  readonly shared: Shared;
  /** Opens when it is no longer 0. */
  readonly gate: Int32Array<SharedArrayBuffer>;
  readonly warmUpMs: number;
  readonly measureMs: number;
}

/**
 * Runs a consuming thread: warms up, reports that, waits for the gate, then measures and reports.
 * `open` creates the consumer from the shared data.
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
