import { expect, test } from 'vitest';
import { Region } from '../../src/index.ts';
import type { Receipt } from '../../src/kernel/bucket/kernel.ts';
import { boundsOf, createWindowCell, liveWindow } from '../../src/kernel/window/cell.ts';
import {
  openWindow,
  type SometimesKernel,
  type WindowKernel,
} from '../../src/kernel/window/host.ts';
import {
  clockTicks,
  countBitsOf,
  LOG_EPOCH_TICKS,
  lowBitsOf,
  type WindowKind,
  type WindowLimit,
} from '../../src/kernel/window/limit.ts';
import { createSometimesCell, openSometimes } from '../../src/kernel/window/sometimes.ts';
import { CELL, WINDOW } from '../../src/memory/layout.ts';
import { Random, SEED, SHARE } from '../support/random.ts';
import { RandomTime } from '../support/random-time.ts';
import { firstWord, randomChange, randomLimit } from '../support/random-window.ts';
import { same, Twins } from '../support/twins.ts';

const CALLS = 250_000 * SHARE;
const CALLS_OF_A_LIMITER = 500;
const RARITY = { broken: 5_000, back: 100, leap: 300 };

/** The same window or log twice. */
class WindowTwins extends Twins<WindowKernel> {
  readonly #kind: WindowKind;
  readonly #limit: WindowLimit;
  readonly #random: Random;
  readonly #receipts: (readonly [Receipt, Receipt])[] = [];

  constructor(kind: WindowKind, limit: WindowLimit, random: Random, { us }: RandomTime) {
    const origin = clockTicks(us) - (kind === 'sliding-log' ? LOG_EPOCH_TICKS : 0);
    const word = firstWord(kind, limit, random);
    const taken = word === 0n ? random.below(2) * random.below(limit.limit + 1) : 0;
    const allowDoubleBurst = kind === 'fixed-window' && random.below(2) === 0;
    const cell = (plain: boolean) =>
      createWindowCell({
        kind,
        limit,
        originTicks: origin,
        word,
        taken,
        allowDoubleBurst,
        stats: false,
        region: Region.create({ plain }),
      });
    super(cell, openWindow);
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
      this.#random.below(limit + 1),
      2 ** 53,
    ]);
  }

  step(time: RandomTime, about: string): void {
    const random = this.#random;
    const n = this.#tokens();
    const what = (call: string) => `${call} ${n} at ${time.us} of ${about}`;
    /** The answer, and the number of clock readings for it. */
    const both = (name: string, call: (kernel: WindowKernel) => unknown) =>
      this.both(what(name), (kernel) => {
        time.readings = 0;
        return [call(kernel), time.readings];
      });
    switch (random.below(12)) {
      case 10: {
        if (random.below(4) !== 0) break;
        const change = randomChange(this.#kind, this.#limit, random);
        both(`reconfigure ${JSON.stringify(change)}`, (kernel) => kernel.reconfigure(change, time));
        break;
      }
      case 11:
        both('return', (kernel) => kernel.returnTokens(n, time));
        break;
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
    for (const place of this.places) {
      const { region, offset } = place;
      const { bits, shift, word } = liveWindow(place, boundsOf(place));
      const lowBits = BigInt(lowBitsOf(bits));
      const sealed = word | (1n << (lowBits - 1n));
      region.i64[(offset + CELL.word) >> 3] = sealed;
      const slot = (BigInt.asUintN(64, sealed) >> lowBits) - BigInt(shift);
      const at = ((offset + WINDOW.ring) >> 3) + Number(slot % BigInt(this.#limit.slots));
      if (isKept) region.i64[at] = BigInt.asIntN(64, sealed - (BigInt(shift) << lowBits));
    }
  }

  /** Leaves the state of a thread terminated while it writes its entries. */
  #dieWriting(time: RandomTime): void {
    const { maxLimit } = this.#limit;
    const n = 1 + this.#random.below(Math.min(maxLimit, 8));
    const written = this.#random.below(n);
    const bits = countBitsOf(maxLimit);
    const before = this.places.map(({ region, offset }) => {
      const word = region.i64[(offset + CELL.word) >> 3] ?? 0n;
      const ring = new BigInt64Array(region.buffer, offset + WINDOW.ring, maxLimit);
      return { index: Number(BigInt.asUintN(bits, word >> 32n)), ring, entries: ring.slice() };
    });
    if (this.both(`take ${n} at ${time.us}`, (kernel) => kernel.take(n, time)) !== true) return;
    for (const { index, ring, entries } of before) {
      for (let i = written; i < n; i++) {
        const at = (index + i) % maxLimit;
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
      const time = new RandomTime(random, RARITY);
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
    const time = new RandomTime(random, RARITY);
    const cell = (plain: boolean) =>
      createSometimesCell(occasions, time.us, Region.create({ plain }));
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
