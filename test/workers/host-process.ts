import { once } from 'node:events';
import { isMainThread, parentPort, Worker } from 'node:worker_threads';
import { HostRegion } from '../../src/host.ts';
import { ManualClock, TokenBucket } from '../../src/index.ts';

/** A process with two threads, each of which opens the region of a file and hammers one bucket. */
export interface HammerStep {
  readonly path: string;
  readonly rate: number;
  readonly burst: number;
  /** The instant of the clock named `gate` at which all threads start. */
  readonly startMs: number;
}

/** What a thread was admitted in a step. */
export interface Hammered {
  readonly admitted: number;
  readonly failedExchanges: number;
}

/** Refusals after which a thread is sure that the bucket is empty. */
const REFUSALS = 1000;

function hammer({ path, rate, burst, startMs }: HammerStep): Hammered {
  const region = HostRegion.open({ path });
  const clock = ManualClock.open(region, 'clock');
  const gate = ManualClock.open(region, 'gate');
  const bucket = TokenBucket.open(region, 'api', { rate, burst, clock, stats: true });
  const before = bucket.stats().failedExchanges;
  while (gate.nowMs < startMs) {
    // All threads start at one instant.
  }
  let admitted = 0;
  for (let refused = 0; refused < REFUSALS; ) {
    if (bucket.tryConsume()) admitted++;
    else refused++;
  }
  return { admitted, failedExchanges: bucket.stats().failedExchanges - before };
}

if (isMainThread) {
  const thread = new Worker(new URL(import.meta.url));
  process.on('message', (step: HammerStep) => {
    // An error of the thread ends the process.
    const other = once(thread, 'message') as Promise<[Hammered]>;
    thread.postMessage(step);
    const own = hammer(step);
    void other.then(([hammered]) => process.send?.([own, hammered]));
  });
  process.on('disconnect', () => process.exit());
  thread.once('online', () => process.send?.('ready'));
} else {
  parentPort?.on('message', (step: HammerStep) => parentPort?.postMessage(hammer(step)));
}
