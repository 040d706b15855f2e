import type { ClockReader } from '../../src/kernel/window/host.ts';
import type { Random } from './random.ts';

const YEAR_US = 365.25 * 86_400e6;

/** Unusual steps of a clock are one in this many. */
export interface Rarity {
  /** A reading that is no time at all, or is out of range. */
  readonly broken: number;
  /** A step back. */
  readonly back: number;
  /** A leap of up to a year. */
  readonly leap: number;
}

/** A clock whose time passes at random. */
export class RandomTime implements ClockReader {
  us: number;
  /** How often it was read. */
  readings = 0;
  readonly #random: Random;
  readonly #rarity: Rarity;
  readonly #bornUs: number;
  #isBroken = false;

  constructor(random: Random, rarity: Rarity) {
    this.#random = random;
    this.#rarity = rarity;
    this.us = random.pick([0, 1e6, random.logarithmic(1, 10 * YEAR_US), -random.below(1e9)]);
    this.#bornUs = this.us;
  }

  read(): void {
    this.readings++;
  }

  /** Advances by part of an interval or several; sometimes a step back, or years. */
  pass(intervalMs: number): void {
    const random = this.#random;
    const { broken, back, leap } = this.#rarity;
    const intervalUs = intervalMs * 1000;
    if (this.#isBroken) this.us = this.#bornUs;
    this.#isBroken = random.below(broken) === 0;
    if (this.#isBroken) {
      this.us = random.pick([Number.NaN, Infinity, -Infinity, 40 * YEAR_US, -1e300]);
      return;
    }
    const usual = random.pick([
      0,
      0,
      0.01,
      1,
      random.below(100) / 50,
      random.logarithmic(0.001, 30),
    ]);
    this.us += usual * intervalUs;
    if (random.below(back) === 0) this.us -= random.logarithmic(0.01, 3) * intervalUs;
    if (random.below(leap) === 0) this.us += random.logarithmic(1, YEAR_US);
    // The end of its lifetime: a limiter works for at least 12 years.
    if (this.us > this.#bornUs + 11 * YEAR_US) this.us = this.#bornUs;
  }
}
