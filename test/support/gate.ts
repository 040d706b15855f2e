/** Long enough for a busy machine; only a run that hangs gets here. */
const TIMEOUT_MS = 60_000;

/** Looks to meet at full speed, few enough if threads outnumber processors. */
const LOOKS = 2000;

/** A barrier for threads: a counter in shared memory. */
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

  /** Whether anyone has arrived. */
  get isOpen(): boolean {
    return Atomics.load(this.#count, 0) > 0;
  }

  /** Blocks until this many have arrived. */
  await(arrivals: number): void {
    for (let looks = 0; ; looks++) {
      const seen = Atomics.load(this.#count, 0);
      if (seen >= arrivals) return;
      if (looks < LOOKS) continue;
      if (Atomics.wait(this.#count, 0, seen, TIMEOUT_MS) === 'timed-out') {
        throw new Error(`${seen} of ${arrivals} arrived at the gate`);
      }
    }
  }
}
