import { parentPort, workerData } from 'node:worker_threads';
import { systemClock } from '../src/index.ts';

/** The counts of one thread, from its first call to its last. */
export interface ConsumerReport {
  readonly calls: number;
  readonly admitted: number;
  readonly elapsedNs: number;
}

/** Calls repeatedly for `ms` milliseconds. */
export type Consumer = (ms: number) => ConsumerReport | Promise<ConsumerReport>;

const CALLS_PER_LOOK = 512;
/** Async calls take longer, so the clock is read more often. */
const ASKS_PER_LOOK = 64;
/** Warms up in several short runs, so that the function is compiled as a whole, not in mid-loop. */
const WARM_UP_PARTS = 10;

/** Synchronous calls. */
export function calling(consume: () => boolean): Consumer {
  return (ms) => {
    const startUs = systemClock.now();
    const endUs = startUs + ms * 1000;
    let calls = 0;
    let admitted = 0;
    let nowUs: number;
    do {
      for (let i = 0; i < CALLS_PER_LOOK; i++) if (consume()) admitted++;
      calls += CALLS_PER_LOOK;
      nowUs = systemClock.now();
    } while (nowUs < endUs);
    return { calls, admitted, elapsedNs: (nowUs - startUs) * 1000 };
  };
}

/** Async calls with `inFlight` of them in flight: 1, or up to 64. */
export function asking(ask: () => Promise<boolean>, inFlight = 1): Consumer {
  return async (ms) => {
    const startUs = systemClock.now();
    const endUs = startUs + ms * 1000;
    let calls = 0;
    let admitted = 0;
    let nowUs: number;
    const lane = async () => {
      for (let i = 0; i < ASKS_PER_LOOK / inFlight; i++) {
        calls++;
        if (await ask()) admitted++;
      }
    };
    do {
      if (inFlight === 1) await lane();
      else await Promise.all(Array.from({ length: inFlight }, lane));
      nowUs = systemClock.now();
    } while (nowUs < endUs);
    return { calls, admitted, elapsedNs: (nowUs - startUs) * 1000 };
  };
}

/** Runs the consumer as in the measurement. */
export async function warmUp(consumer: Consumer, ms: number): Promise<void> {
  for (let part = 0; part < WARM_UP_PARTS; part++) await consumer(ms / WARM_UP_PARTS);
}

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
