/** Long, because the machine may be busy; it only ends a run that hangs. */
const PATIENCE_MS = 60_000;

/** Lets threads wait for each other, by a counter in shared memory. */
export class Gate {
  readonly buffer: SharedArrayBuffer;
  readonly #count: Int32Array;

  constructor(buffer = new SharedArrayBuffer(4)) {
    this.buffer = buffer;
    this.#count = new Int32Array(buffer);
  }

  /** Counts one arrival. */
  arrive(): void {
    Atomics.add(this.#count, 0, 1);
    Atomics.notify(this.#count, 0);
  }

  /** Blocks until so many have arrived. */
  await(arrivals: number): void {
    for (;;) {
      const seen = Atomics.load(this.#count, 0);
      if (seen >= arrivals) return;
      if (Atomics.wait(this.#count, 0, seen, PATIENCE_MS) === 'timed-out') {
        throw new Error(`${seen} of ${arrivals} arrived at the gate`);
      }
    }
  }
}
