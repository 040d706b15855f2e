/** Thrown into a call whose thread dies. */
class Death extends Error {}

/** What a call returns whose thread died in it. */
export const DEAD = Symbol('dead');

interface Frame {
  /** Atomic operations still to go. */
  left: number;
  readonly then: () => void;
}

/** A word that an exchange has changed. */
export interface Change {
  readonly index: number;
  readonly from: bigint;
  readonly to: bigint;
}

/**
 * Stalls and kills calls at a chosen atomic operation, on one thread: when a call has come to it, the
 * calls of the other threads run to their end inside it, or the call ends there. Between two of its
 * atomic operations a call touches nothing that others see, so these are all the places where
 * anything can happen to it.
 */
export class Interruptions {
  readonly #load = Atomics.load;
  readonly #compareExchange = Atomics.compareExchange;
  readonly #frames: Frame[] = [];
  /** All changes that exchanges made, in their order. */
  readonly changes: Change[] = [];
  /** Calls that came to their place. */
  stalls = 0;

  constructor() {
    const atomics = Atomics as unknown as Record<string, unknown>;
    atomics['load'] = (array: BigInt64Array, index: number) => {
      this.#step();
      return this.#load(array, index);
    };
    atomics['compareExchange'] = (a: BigInt64Array, index: number, from: bigint, to: bigint) => {
      this.#step();
      const seen = this.#compareExchange(a, index, from, to);
      if (seen === from) this.changes.push({ index, from, to });
      return seen;
    };
  }

  #step(): void {
    const frame = this.#frames.at(-1);
    if (frame === undefined) return;
    frame.left--;
    if (frame.left === 0) {
      this.stalls++;
      frame.then();
    }
  }

  /** Runs a call; before its `at`-th atomic operation, `meanwhile` runs, and the call dies if it is to. */
  call<T>(
    run: () => T,
    { at, meanwhile, dies }: { at: number; meanwhile: () => void; dies: boolean },
  ): T | typeof DEAD {
    const then = () => {
      meanwhile();
      if (dies) throw new Death();
    };
    const depth = this.#frames.push({ left: at, then });
    try {
      return run();
    } catch (error) {
      if (error instanceof Death) return DEAD;
      throw error;
    } finally {
      this.#frames.length = depth - 1;
    }
  }

  /** Gives Atomics back. */
  restore(): void {
    Object.assign(Atomics, { load: this.#load, compareExchange: this.#compareExchange });
  }
}
