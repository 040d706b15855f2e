import { expect, test } from 'vitest';
import { Region } from '../../src/index.ts';
import type { Receipt } from '../../src/kernel/bucket/kernel.ts';
import { createWindowCell } from '../../src/kernel/window/cell.ts';
import { openFixedWindow } from '../../src/kernel/window/fixed-window.ts';
import type { ClockReader, SometimesKernel, WindowKernel } from '../../src/kernel/window/kernel.ts';
import {
  countBitsOf,
  lowBitsOf,
  type WindowKind,
  type WindowLimit,
} from '../../src/kernel/window/limit.ts';
import { openSlidingLog } from '../../src/kernel/window/sliding-log.ts';
import { openSlidingWindow } from '../../src/kernel/window/sliding-window.ts';
import { createSometimesCell, openSometimes } from '../../src/kernel/window/sometimes.ts';
import { clockTicks, logEpochTicks } from '../../src/kernel/window/time.ts';
import { CELL, WINDOW } from '../../src/memory/layout.ts';
import { Random, SEED, SHARE } from '../support/random.ts';
import { firstWord, randomLimit } from '../support/random-window.ts';
import { same, Twins } from '../support/twins.ts';

const CALLS = 250_000 * SHARE;
const CALLS_OF_A_LIMITER = 500;
const YEAR_US = 365.25 * 86_400e6;

/** The time that both twins read. */
class Time implements ClockReader {
  us: number;
  /** How often it was read. */
  readings = 0;
  readonly #random: Random;
  readonly #bornUs: number;
  #isBroken = false;

  constructor(random: Random) {
    this.#random = random;
    this.us = random.pick([0, 1e6, random.logarithmic(1, 10 * YEAR_US), -random.below(1e9)]);
    this.#bornUs = this.us;
  }

  read(): void {
    this.readings++;
  }

  /** Advances by part of an interval or several; sometimes a step back, or years. */
  pass(intervalMs: number): void {
    const random = this.#random;
    const intervalUs = intervalMs * 1000;
    if (this.#isBroken) this.us = this.#bornUs;
    this.#isBroken = random.below(5_000) === 0;
    if (this.#isBroken) {
      this.us = random.pick([Number.NaN, Infinity, -Infinity, 40 * YEAR_US, -1e300]);
      return;
    }
    const usual = random.pick([0, 0, 0.01, random.below(100) / 50, random.logarithmic(0.001, 30)]);
    this.us += usual * intervalUs;
    if (random.below(100) === 0) this.us -= random.logarithmic(0.01, 3) * intervalUs;
    if (random.below(300) === 0) this.us += random.logarithmic(1, YEAR_US);
    // The end of its lifetime: a limiter works for at least 12 years.
    if (this.us > this.#bornUs + 11 * YEAR_US) this.us = this.#bornUs;
  }
}

const OPEN = {
  'fixed-window': openFixedWindow,
  'sliding-window': openSlidingWindow,
  'sliding-log': openSlidingLog,
};

/** The same window or log twice. */
class WindowTwins extends Twins<WindowKernel> {
  readonly #kind: WindowKind;
  readonly #limit: WindowLimit;
  readonly #random: Random;
  readonly #receipts: (readonly [Receipt, Receipt])[] = [];

  constructor(kind: WindowKind, limit: WindowLimit, random: Random, { us }: Time) {
    const origin = clockTicks(us) - (kind === 'sliding-log' ? logEpochTicks(limit.intervalMs) : 0);
    const word = firstWord(kind, limit.limit, random);
    const cell = () =>
      createWindowCell({
        kind,
        limit,
        originTicks: origin,
        word,
        stats: false,
        region: Region.create(),
      });
    super(cell, OPEN[kind]);
    this.#kind = kind;
    this.#limit = limit;
    this.#random = random;
  }

  #tokens(): number {
    const { limit } = this.#limit;
    return this.#random.pick([
      0,
      1,
      1,
      1 + this.#random.below(3),
      limit,
      limit + 1,
      1 + this.#random.below(limit),
      2 ** 53,
    ]);
  }

  step(time: Time, about: string): void {
    const random = this.#random;
    const n = this.#tokens();
    const what = (call: string) => `${call} ${n} at ${time.us} of ${about}`;
    /** The answer, and the number of clock readings for it. */
    const both = (name: string, call: (kernel: WindowKernel) => unknown) =>
      this.both(what(name), (kernel) => {
        time.readings = 0;
        return [call(kernel), time.readings];
      });
    switch (random.below(10)) {
      case 0:
        both('drain', (kernel) => kernel.drain(n, time));
        break;
      case 1:
        both('decide', (kernel) => kernel.decide(n, time));
        break;
      case 2:
        both('timeUntil', (kernel) => kernel.timeUntil(n, time));
        break;
      case 3:
        both('available', (kernel) => kernel.available(time));
        break;
      case 4: {
        const receipts = this.#receipts.splice(-1 - random.below(2))[0];
        if (receipts === undefined) break;
        this.both(what('cancel'), (kernel, twin) => kernel.cancel(receipts[twin]));
        break;
      }
      case 5:
        if (this.#kind === 'sliding-window') this.#dieOpening();
        if (this.#kind === 'sliding-log') this.#dieWriting(time);
        break;
      default: {
        const isTaken = this.both(what('take'), (kernel) => kernel.take(n, time)) === true;
        if (!isTaken) this.both(what('wait'), (kernel) => kernel.waitUs);
        const receipts = [this.kernels[0].receipt(), this.kernels[1].receipt()] as const;
        // A log's admission cannot be cancelled, so its receipt is empty.
        if (isTaken && n > 0 && this.#kind !== 'sliding-log' && !same(...receipts)) {
          expect(receipts[1], what('receipt')).toEqual(receipts[0]);
        }
        this.#receipts.push(receipts);
      }
    }
  }

  /** Leaves the state of a thread terminated after sealing a slot, or also storing it. */
  #dieOpening(): void {
    const isKept = this.#random.below(2) === 0;
    for (const { region, offset } of this.places) {
      const at = (offset + CELL.word) >> 3;
      const lowBits = BigInt(lowBitsOf(this.#limit.limit));
      const sealed = (region.i64[at] ?? 0n) | (1n << (lowBits - 1n));
      region.i64[at] = sealed;
      const index = Number(BigInt.asUintN(64, sealed) >> lowBits) % this.#limit.slots;
      if (isKept) region.i64[((offset + WINDOW.ring) >> 3) + index] = sealed;
    }
  }

  /** Leaves the state of a thread terminated while it writes its entries. */
  #dieWriting(time: Time): void {
    const { limit } = this.#limit;
    const n = 1 + this.#random.below(Math.min(limit, 8));
    const written = this.#random.below(n);
    const bits = countBitsOf(limit);
    const before = this.places.map(({ region, offset }) => {
      const word = region.i64[(offset + CELL.word) >> 3] ?? 0n;
      const ring = new BigInt64Array(region.buffer, offset + WINDOW.ring, limit);
      return { index: Number(BigInt.asUintN(bits, word >> 32n)), ring, entries: ring.slice() };
    });
    if (this.both(`take ${n} at ${time.us}`, (kernel) => kernel.take(n, time)) !== true) return;
    for (const { index, ring, entries } of before) {
      for (let i = written; i < n; i++) {
        const at = (index + i) % limit;
        ring[at] = entries[at] ?? 0n;
      }
    }
  }
}

const KINDS: readonly WindowKind[] = ['fixed-window', 'sliding-window', 'sliding-log'];

test.each(KINDS)(
  `${CALLS} random calls on a %s leave the same words and get the same answers from both kernels (ZEROTIME_SEED=${SEED})`,
  (kind) => {
    const random = new Random(SEED);
    for (let calls = 0; calls < CALLS; calls += CALLS_OF_A_LIMITER) {
      const limit = randomLimit(kind, random);
      const time = new Time(random);
      const twins = new WindowTwins(kind, limit, random, time);
      const about = JSON.stringify(limit);
      for (let call = 0; call < CALLS_OF_A_LIMITER; call++) {
        time.pass(limit.intervalMs / random.pick([1, limit.slots]));
        twins.step(time, about);
        twins.compareMemory();
      }
    }
  },
);

test(`${CALLS} random calls of a Sometimes leave the same words and get the same answers from both kernels (ZEROTIME_SEED=${SEED})`, () => {
  const random = new Random(SEED);
  const number = () => random.pick([0, 0, 1, 2, random.below(20), 2 ** 29 - 1]);
  for (let calls = 0; calls < CALLS; calls += CALLS_OF_A_LIMITER) {
    const intervalMs = random.pick([0, 0.001, 100, random.logarithmic(0.001, 1e11)]);
    const occasions = { first: number(), every: number(), intervalMs };
    const time = new Time(random);
    const cell = () => createSometimesCell(occasions, time.us, Region.create());
    const twins = new Twins<SometimesKernel>(cell, openSometimes);
    for (let call = 0; call < CALLS_OF_A_LIMITER; call++) {
      time.pass(intervalMs);
      twins.both(`isDue at ${time.us} of ${JSON.stringify(occasions)}`, (kernel) => {
        time.readings = 0;
        return [kernel.isDue(time), time.readings];
      });
      twins.compareMemory();
    }
  }
});
