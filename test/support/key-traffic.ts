import type { LimiterHandle } from '../../src/limiters/opening.ts';

/** What the threads of a keyed stress test share. */
export interface Traffic {
  readonly handle: LimiterHandle<'keyed-token-bucket'>;
  /** Tokens that each key was given. */
  readonly given: Int32Array<SharedArrayBuffer>;
  readonly signals: Int32Array<SharedArrayBuffer>;
  /** How keys are drawn: all the same, or as 1/rank (Zipf). */
  readonly draw: 'even' | 'zipf';
  /** Ends after so many calls; without it, with the signal. */
  readonly calls?: number;
}

/** Int32 indices in {@link Traffic.signals}; `calls` is of the first thread, the others follow. */
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

/** Wakes the threads that wait for a signal. */
export function raise(signals: Int32Array<SharedArrayBuffer>, signal: number): void {
  Atomics.store(signals, signal, 1);
  Atomics.notify(signals, signal);
}

export function awaitSignal(signals: Int32Array<SharedArrayBuffer>, signal: number): void {
  while (Atomics.load(signals, signal) === 0) Atomics.wait(signals, signal, 0);
}
