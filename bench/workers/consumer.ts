import { parentPort, workerData } from 'node:worker_threads';
import { attach, type TokenBucket } from '../../src/index.ts';

/** What a consumer is started with. */
export interface ConsumerData {
  readonly bucket: TokenBucket['handle'];
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

function consumeFor(bucket: TokenBucket, ms: number): ConsumerReport {
  const { clock } = bucket;
  const startUs = clock.now();
  const endUs = startUs + ms * 1000;
  let calls = 0;
  let admitted = 0;
  let nowUs: number;
  do {
    for (let i = 0; i < CALLS_PER_LOOK; i++) if (bucket.tryConsume()) admitted++;
    calls += CALLS_PER_LOOK;
    nowUs = clock.now();
  } while (nowUs < endUs);
  return { calls, admitted, elapsedNs: (nowUs - startUs) * 1000 };
}

const { bucket: handle, gate, warmUpMs, measureMs }: ConsumerData = workerData;
const bucket = attach(handle);
for (let part = 0; part < WARM_UP_PARTS; part++) consumeFor(bucket, warmUpMs / WARM_UP_PARTS);
parentPort?.postMessage('warm');
Atomics.wait(gate, 0, 0);
parentPort?.postMessage(consumeFor(bucket, measureMs));
