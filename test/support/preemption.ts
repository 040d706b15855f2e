import { afterEach, beforeEach } from 'vitest';
import type { KernelName } from '../../src/memory/handle.ts';

/** Thrown into a call to kill its thread. */
class Death extends Error {}

/** The result of a call whose thread was killed in it. */
export const KILLED = Symbol('killed');

/** A change of a word by compare-and-exchange. */
export interface Change {
  readonly from: bigint;
  readonly to: bigint;
}

/** More accesses than any call makes: one that goes on without end is an error, not a hang. */
const ENDLESS = 1_000_000;

interface Frame {
  stepsLeft: number;
  /** Returns the number of operations after which it happens again, if it does. */
  readonly happen: () => number | undefined;
}

/**
 * Stalls or kills a call at a chosen atomic operation. Everything runs on one thread: the calls of
 * "other threads" run to completion inside the stalled call. Atomic loads, exchanges and additions
 * are the only points at which other threads can interact with a call.
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
  #steps = 0;
  /** Number of calls that were stalled. */
  stalls = 0;
  /** All changes made by 64-bit exchanges, in order. */
  readonly changes: Change[] = [];

  constructor(begins = true) {
    if (begins) this.begin();
  }

  /** Replaces Atomics. */
  begin(): void {
    this.stalls = 0;
    this.changes.length = 0;
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
    if (++this.#steps > ENDLESS) throw new Error('a call goes on without end');
    frame.stepsLeft--;
    if (frame.stepsLeft > 0) return;
    // `happen` acts for another thread, which has its own frame and may be stalled itself.
    frame.stepsLeft = Number.POSITIVE_INFINITY;
    this.stalls++;
    this.#frames.push({ stepsLeft: Number.POSITIVE_INFINITY, happen: () => undefined });
    try {
      frame.stepsLeft = frame.happen() ?? Number.POSITIVE_INFINITY;
    } finally {
      this.#frames.pop();
    }
  }

  /**
   * Runs a call. Before its `at`-th atomic operation `meanwhile` runs; and again after as many more
   * as it returns, if it returns a number. With `dies` the call then ends.
   */
  call<T>(run: () => T, at: number, meanwhile: () => unknown, dies = false): T | typeof KILLED {
    const depth = this.#frames.length;
    if (depth === 0) this.#steps = 0;
    const happen = () => {
      const again = meanwhile();
      if (dies) throw new Death();
      return typeof again === 'number' ? again : undefined;
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

  /** Returns a limiter whose calls can be stalled; throws for any other. */
  check<L extends { readonly kernelName: KernelName }>(limiter: L): L {
    if (limiter.kernelName === 'atomics') return limiter;
    throw new Error(`no call of the ${limiter.kernelName} kernel can be stalled`);
  }

  /** Restores Atomics. */
  restore(): void {
    Object.assign(Atomics, this.#originals);
    if (this.#kernel === undefined) delete process.env['ZEROTIME_KERNEL'];
    else process.env['ZEROTIME_KERNEL'] = this.#kernel;
  }
}

/** One that begins and ends with each test of a file or group. */
export function eachPreempted(): Preemption {
  const preemption = new Preemption(false);
  beforeEach(() => preemption.begin());
  afterEach(() => preemption.restore());
  return preemption;
}
