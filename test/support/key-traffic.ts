import type { LimiterHandle } from '../../src/limiters/opening.ts';

/** The shared state of a keyed stress test's threads. */
export interface Traffic {
  readonly handle: LimiterHandle<'keyed-token-bucket' | 'keyed-limit-set'>;
  /** Tokens granted to each key. */
  readonly given: Int32Array<SharedArrayBuffer>;
  readonly signals: Int32Array<SharedArrayBuffer>;
  /** The distribution of keys: uniform, or by 1/rank (Zipf). */
  readonly draw: 'even' | 'zipf';
  /** Ends after this many calls; if undefined, at the signal. */
  readonly calls?: number;
}

/** Int32 indices in {@link Traffic.signals}. `calls` is the first thread's; the others follow. */
export const SIGNAL = { go: 0, stop: 1, calls: 2 } as const;

export function newSignals(threads: number): Int32Array<SharedArrayBuffer> {
  return new Int32Array(new SharedArrayBuffer(4 * (SIGNAL.calls + threads)));
}

export function newCounts(size: number): Int32Array<SharedArrayBuffer> {
  return new Int32Array(new SharedArrayBuffer(4 * size));
}

/** A key of 20 characters. */
export function keyName(index: number): string {
  return `user:${String(index).padStart(15, '0')}`;
}

/** Sets a signal and wakes the threads that wait for it. */
export function raise(signals: Int32Array<SharedArrayBuffer>, signal: number): void {
  Atomics.store(signals, signal, 1);
  Atomics.notify(signals, signal);
}

export function awaitSignal(signals: Int32Array<SharedArrayBuffer>, signal: number): void {
  while (Atomics.load(signals, signal) === 0) Atomics.wait(signals, signal, 0);
}
