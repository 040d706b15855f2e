import { parentPort, workerData } from 'node:worker_threads';
import { systemClock } from '../src/index.ts';

/** What a consuming thread is started with. */
export interface ConsumerData<Shared> {
  /** What the peer's threads share. */
  readonly shared: Shared;
  /** Opens when it is no longer 0. */
  readonly gate: Int32Array<SharedArrayBuffer>;
  readonly warmUpMs: number;
  readonly measureMs: number;
}

/** What it counted behind the gate. */
export interface ConsumerReport {
  readonly calls: number;
  readonly admitted: number;
  readonly elapsedNs: number;
}

const CALLS_PER_LOOK = 512;
/** The warm-up calls the measured function several times, so that it is compiled as a whole. */
const WARM_UP_PARTS = 10;

function consumeFor(ms: number, consume: () => boolean): ConsumerReport {
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
}

/**
 * The life of a consuming thread: warms up, says so, waits for the gate, and reports what it
 * counted behind it. `open` makes of the shared value what is called again and again.
 */
export function consumeBehindGate<Shared>(open: (shared: Shared) => () => boolean): void {
  const { shared, gate, warmUpMs, measureMs }: ConsumerData<Shared> = workerData;
  const consume = open(shared);
  for (let part = 0; part < WARM_UP_PARTS; part++) consumeFor(warmUpMs / WARM_UP_PARTS, consume);
  parentPort?.postMessage('warm');
  Atomics.wait(gate, 0, 0);
  parentPort?.postMessage(consumeFor(measureMs, consume));
}
