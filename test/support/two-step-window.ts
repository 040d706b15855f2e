import { type ClockHandle, ManualClock } from '../../src/index.ts';

/** The state that another thread needs to share a {@link TwoStepWindow}. */
export interface TwoStepHandle {
  readonly limit: number;
  readonly intervalUs: number;
  readonly buffer: SharedArrayBuffer;
  readonly clock: ClockHandle;
}

/**
 * The usual interval counter in two words: `fetch_add` below the limit; past it, an exchange of the
 * start opens the next window and a store sets its count to 1. It demonstrates the bug that
 * {@link FixedWindow} avoids: the store can come an interval too late.
 */
export class TwoStepWindow {
  readonly handle: TwoStepHandle;
  readonly #words: BigInt64Array<SharedArrayBuffer>;
  readonly #clock: ManualClock;
  readonly #betweenSteps: () => void;

  constructor(handle: TwoStepHandle, betweenSteps: () => void = () => undefined) {
    this.handle = handle;
    this.#words = new BigInt64Array(handle.buffer);
    this.#clock = ManualClock.attach(handle.clock);
    this.#betweenSteps = betweenSteps;
  }

  static create(limit: number, intervalMs: number, clock: ManualClock): TwoStepWindow {
    const buffer = new SharedArrayBuffer(16);
    return new TwoStepWindow({ limit, intervalUs: intervalMs * 1000, buffer, clock: clock.handle });
  }

  tryConsume(): boolean {
    const { limit, intervalUs } = this.handle;
    const [count, start] = [0, 1];
    if (Atomics.add(this.#words, count, 1n) < BigInt(limit)) return true;
    const opened = Atomics.load(this.#words, start);
    const now = BigInt(Math.round(this.#clock.now()));
    if (now - opened < BigInt(intervalUs)) return false;
    if (Atomics.compareExchange(this.#words, start, opened, now) !== opened) return false;
    this.#betweenSteps();
    Atomics.store(this.#words, count, 1n);
    return true;
  }
}
