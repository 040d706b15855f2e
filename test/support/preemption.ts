import type { KernelName } from '../../src/memory/handle.ts';

/** Thrown into a call whose thread dies. */
class Death extends Error {}

/** What a call returns whose thread died in it. */
export const KILLED = Symbol('killed');

/** A word that an exchange has changed. */
export interface Change {
  readonly from: bigint;
  readonly to: bigint;
}

interface Frame {
  stepsLeft: number;
  readonly happen: () => void;
}

/**
 * Stalls and kills calls at a chosen atomic operation, on one thread: there the calls of other
 * threads run to their end inside it, or the call ends. Loads, exchanges and additions are all that
 * others can see of a call.
 *
 * Only calls in JavaScript can be stalled so: limiters that are made and attached meanwhile work with
 * the JavaScript target, unless they ask for the other. {@link check} says whether one does.
 */
export class Preemption {
  readonly #originals = {
    load: Atomics.load,
    compareExchange: Atomics.compareExchange,
    add: Atomics.add,
  };
  readonly #kernel = process.env['ZEROTIME_KERNEL'];
  readonly #frames: Frame[] = [];
  /** Calls that came to their place. */
  stalls = 0;
  /** All changes that exchanges of 64-bit words made, in their order. */
  readonly changes: Change[] = [];

  constructor() {
    process.env['ZEROTIME_KERNEL'] = 'atomics';
    for (const [name, original] of Object.entries(this.#originals)) {
      const hooked = (...args: unknown[]) => {
        this.#step();
        const seen = (original as (...args: unknown[]) => unknown)(...args);
        const [, , from, to] = args;
        if (typeof from === 'bigint' && typeof to === 'bigint' && seen === from) {
          this.changes.push({ from, to });
        }
        return seen;
      };
      Object.assign(Atomics, { [name]: hooked });
    }
  }

  #step(): void {
    const frame = this.#frames.at(-1);
    if (frame === undefined) return;
    frame.stepsLeft--;
    if (frame.stepsLeft > 0) return;
    // What runs meanwhile is another thread: it has its own place, or none.
    frame.stepsLeft = Number.POSITIVE_INFINITY;
    this.stalls++;
    this.#frames.push({ stepsLeft: Number.POSITIVE_INFINITY, happen: () => undefined });
    try {
      frame.happen();
    } finally {
      this.#frames.pop();
    }
  }

  /** Runs a call; before its `at`-th atomic operation `meanwhile` runs, and then it may die. */
  call<T>(run: () => T, at: number, meanwhile: () => void, dies = false): T | typeof KILLED {
    const depth = this.#frames.length;
    const happen = () => {
      meanwhile();
      if (dies) throw new Death();
    };
    this.#frames.push({ stepsLeft: at, happen });
    try {
      return run();
    } catch (error) {
      if (error instanceof Death) return KILLED;
      throw error;
    } finally {
      this.#frames.length = depth;
    }
  }

  /** Returns a limiter whose calls can be stalled; throws for another. */
  check<L extends { readonly kernelName: KernelName }>(limiter: L): L {
    if (limiter.kernelName === 'atomics') return limiter;
    throw new Error(`no call of the ${limiter.kernelName} kernel can be stalled`);
  }

  /** Gives Atomics back. */
  restore(): void {
    Object.assign(Atomics, this.#originals);
    if (this.#kernel === undefined) delete process.env['ZEROTIME_KERNEL'];
    else process.env['ZEROTIME_KERNEL'] = this.#kernel;
  }
}
