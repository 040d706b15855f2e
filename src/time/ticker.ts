import type { TICKER_CLOCK } from '../memory/layout.ts';

/** The parts of `node:worker_threads` that a ticker uses. */
interface Thread {
  readonly parentPort: { postMessage(message: unknown): void } | null;
  readonly workerData: SharedArrayBuffer;
}

/**
 * Publishes the time once per period until its thread ends, or without pause if it spins. The
 * thread runs this function's source text, because bundlers would not include a separate file.
 * Invariant: it uses only its arguments and globals, and contains no function, because bundlers
 * that keep names would wrap that in a call to a helper.
 */
export function runTicker({ parentPort, workerData }: Thread, offsets: typeof TICKER_CLOCK): never {
  const time = new Float64Array(1);
  const bits = new BigInt64Array(time.buffer);
  const cell = new BigInt64Array(workerData, offsets.now, 1);
  const beats = new Int32Array(workerData, offsets.beats, 1);
  const periodUs = new Float64Array(workerData, offsets.periodUs, 1)[0] as number; // never out of bounds
  const bed = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
  const isNode = typeof process === 'object' && typeof process.hrtime === 'function';
  if (periodUs < 1) {
    // Store only a changed time: each store takes the line from the readers.
    let beat = 0;
    if (parentPort !== null) parentPort.postMessage('ticking');
    // Any branch in this loop would make V8 allocate for each reading.
    if (isNode) {
      for (;;) {
        const read = process.hrtime();
        const next = Math.floor((read[0] * 1e6 + read[1] / 1e3) / periodUs) | 0;
        if (next !== beat) Atomics.store(beats, 0, next);
        beat = next;
      }
    }
    for (;;) {
      const next = Math.floor(((performance.timeOrigin + performance.now()) * 1000) / periodUs) | 0;
      if (next !== beat) Atomics.store(beats, 0, next);
      beat = next;
    }
  }
  let dueUs = 0;
  for (;;) {
    // The same reading as the system clock's.
    const read = isNode ? process.hrtime() : undefined;
    const nowUs = read
      ? read[0] * 1e6 + read[1] / 1e3
      : (performance.timeOrigin + performance.now()) * 1000;
    if (nowUs < dueUs) {
      Atomics.wait(bed, 0, 0, (dueUs - nowUs) / 1000);
      continue;
    }
    time[0] = nowUs;
    Atomics.store(cell, 0, bits[0] as bigint); // the same eight bytes
    Atomics.add(beats, 0, 1);
    if (dueUs === 0 && parentPort !== null) parentPort.postMessage('ticking');
    // Count from the due time, so that late wake-ups do not add up. Missed ticks are skipped.
    dueUs = Math.max(dueUs + periodUs, nowUs);
  }
}
