import { randomInt } from 'node:crypto';

/**
 * The seed of all random runs of this process. A failing run prints it; set ZEROTIME_SEED to repeat
 * the run.
 */
export const SEED = Number(process.env['ZEROTIME_SEED'] ?? randomInt(2 ** 31));

/**
 * The share of repeated and random work that is done: a fiftieth in `npm test`, a tenth in
 * continuous integration, all of it in `npm run test:all`. Set ZEROTIME_SHARE for another.
 */
export const SHARE = Number(process.env['ZEROTIME_SHARE'] ?? 0.02);

/** Whether every test runs, long variants included. */
export const IN_FULL = SHARE >= 0.1;

/** The share of `count` repetitions, and `least` at least. */
export function part(count: number, least = 1): number {
  return Math.max(least, Math.round(count * SHARE));
}

/** Random numbers determined by the seed (mulberry32), the same in every thread. */
export class Random {
  readonly seed: number;
  #state: number;

  constructor(seed: number) {
    this.seed = seed;
    this.#state = seed | 0;
  }

  /** An integer from 0 to 2^32 - 1. */
  bits(): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let mixed = this.#state;
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return (mixed ^ (mixed >>> 14)) >>> 0;
  }

  /** An integer from 0 to `limit` - 1. */
  below(limit: number): number {
    return Math.floor((this.bits() / 2 ** 32) * limit);
  }

  /** A number from `low` to `high`, uniform in its logarithm. */
  logarithmic(low: number, high: number): number {
    const drawn = low * (high / low) ** (this.bits() / 2 ** 32);
    return Math.min(Math.max(drawn, low), high);
  }

  /** One of `choices`. */
  pick<T>(choices: readonly [T, ...T[]]): T {
    return choices[this.below(choices.length)] ?? choices[0];
  }
}
