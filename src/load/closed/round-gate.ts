import { systemClock } from '../../time/system-clock.ts';

/** Time for the last thread to wake the others, which then spin until the start. */
const LEAD_US = 500;

/** Where the threads of a closed loop meet, so that a round starts as soon as all are there. */
export class RoundGate {
  /** The start of the round in whole microseconds, 0 until it is known. Sendable to threads. */
  readonly words: BigInt64Array<SharedArrayBuffer>;
  readonly #threads: number;

  constructor(threads: number, words = new BigInt64Array(new SharedArrayBuffer(16))) {
    this.#threads = threads;
    this.words = words;
  }

  /** The start of the current round; undefined until it is known. */
  get startUs(): number | undefined {
    return Number(Atomics.load(this.words, 0)) || undefined;
  }

  /** Closes the gate for the next round. Call while no thread is at it. */
  close(): void {
    Atomics.store(this.words, 1, 0n);
    Atomics.store(this.words, 0, 0n);
  }

  /**
   * Blocks until the round starts: when all threads are here, or at `latestUs`. Returns the start,
   * which is the same for all threads.
   */
  pass(latestUs: number): number {
    const { words } = this;
    const isLast = Atomics.add(words, 1, 1n) === BigInt(this.#threads - 1);
    if (isLast) this.#open(systemClock.now() + LEAD_US);
    for (let leftUs = 1; this.startUs === undefined && leftUs > 0; ) {
      leftUs = latestUs - systemClock.now();
      Atomics.wait(words, 0, 0n, Math.max(0, leftUs) / 1_000);
    }
    // A thread that is missing must not hold up the others.
    this.#open(latestUs);
    const startUs = Number(Atomics.load(words, 0));
    systemClock.sleepSync(startUs, { strict: true });
    return startUs;
  }

  /** The first thread to call it decides for all. */
  #open(startUs: number): void {
    if (Atomics.compareExchange(this.words, 0, 0n, BigInt(Math.ceil(startUs))) !== 0n) return;
    Atomics.notify(this.words, 0);
  }
}
