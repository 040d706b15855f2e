import type { TICKER_CLOCK } from '../memory/layout.ts';

/** What a ticker needs of `node:worker_threads`. */
interface Thread {
  readonly parentPort: { postMessage(message: unknown): void } | null;
  readonly workerData: SharedArrayBuffer;
}

/**
 * The ticker's side: publishes the time once a period, for as long as its thread lives. The thread is
 * started from this function's text, so that it needs no file, which a bundler would leave behind.
 * Hence it uses nothing but its arguments and what every thread has, and holds no function, which a
 * bundler that keeps names would wrap in a call to one of its own.
 */
export function runTicker({ parentPort, workerData }: Thread, offsets: typeof TICKER_CLOCK): never {
  const time = new Float64Array(1);
  const bits = new BigInt64Array(time.buffer);
  const cell = new BigInt64Array(workerData, offsets.now, 1);
  const beats = new Int32Array(workerData, offsets.beats, 1);
  const periodUs = new Float64Array(workerData, offsets.periodUs, 1)[0] as number; // never out of bounds
  const bed = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
  let dueUs = 0;
  for (;;) {
    // As the system clock reads it.
    const read = process.hrtime();
    const nowUs = read[0] * 1e6 + read[1] / 1e3;
    if (nowUs < dueUs) {
      Atomics.wait(bed, 0, 0, (dueUs - nowUs) / 1000);
      continue;
    }
    time[0] = nowUs;
    Atomics.store(cell, 0, bits[0] as bigint); // the same eight bytes
    Atomics.add(beats, 0, 1);
    if (dueUs === 0 && parentPort !== null) parentPort.postMessage('ticking');
    // By a schedule, so that late wake-ups do not add up; what was missed is not made up for.
    dueUs = Math.max(dueUs + periodUs, nowUs);
  }
}
