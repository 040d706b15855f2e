import { describe, expect, it } from 'vitest';
import { type KernelName, LimitSet, ManualClock, type Reservation } from '../../src/index.ts';
import type { Limit } from '../support/kinds.ts';
import { PROMISING, type Subject } from '../support/promising.ts';
import { expectClose, expectSame } from '../support/quick.ts';
import { part, Random, SEED } from '../support/random.ts';

// One limit means the same in every class: random calls, promises, cancellations, charges and changes
// give the same answers as a TokenBucket's.

const CLASSES = ['LimitSet', 'key of a KeyedLimitSet', 'shared entry of a KeyedLimitSet'] as const;

class Twins {
  readonly #random: Random;
  readonly #clock = ManualClock.create();
  readonly #both: readonly [Subject, Subject];
  #limit: Limit;
  #pairs: [Reservation, Reservation][] = [];
  promises = 0;

  constructor(random: Random, name: string, kernel: KernelName) {
    this.#random = random;
    this.#limit = { rate: random.pick([1, 2, 8]), burst: random.pick([1, 4, 16, 1024]) };
    const make = (one: string) => PROMISING[one]?.make([this.#limit], this.#clock, kernel);
    this.#both = [make('TokenBucket') as Subject, make(name) as Subject];
  }

  step(label: string): void {
    const random = this.#random;
    const n = Math.min(random.pick([1, 1, 2, 4, 16]), this.#limit.burst);
    const chance = random.below(20);
    if (chance < 6) this.#clock.advance(random.pick([1, 125, 250, 1000, 20_000]));
    else if (chance < 8) this.#same(label, ({ limiter }) => limiter.consumeOrDrain(1024));
    else if (chance < 10) this.#same(label, ({ limiter }) => limiter.tryConsume(n));
    else if (chance < 14) this.#reserve(n, random.pick([100, 5000, Number.POSITIVE_INFINITY]));
    else if (chance === 14) this.#same(label, ({ limiter }) => limiter.charge(n));
    else if (chance === 15) {
      const [one, other] = this.#pairs.pop() ?? [];
      expectSame(other?.cancel(), one?.cancel(), label);
    } else {
      const rate = random.pick([this.#limit.rate, 0, 0.5, 1, 2, 8, 64]);
      this.#limit = { rate, burst: random.pick([this.#limit.burst, 1, 2, 4, 16, 1024]) };
      for (const { change } of this.#both) change([this.#limit]);
    }
    this.#pairs = this.#pairs.filter(([{ dueUs }]) => dueUs > this.#clock.now());
    for (const [one, other] of this.#pairs) expectClose(other.dueUs, one.dueUs, 0, label);
  }

  #same(label: string, call: (subject: Subject) => boolean | number): void {
    const [one, other] = this.#both.map(call).map(Number);
    expectClose(other, one ?? Number.NaN, 2, label);
  }

  #reserve(n: number, maxWaitMs: number): void {
    const [one, other] = this.#both.map(({ limiter }) => limiter.reserve(n, { maxWaitMs }));
    expectSame(other === undefined, one === undefined);
    if (one === undefined || other === undefined) return;
    this.promises++;
    this.#pairs.push([one, other]);
  }
}

describe('one limit is the same limit in every class', () => {
  it.each(CLASSES)('%s answers as a TokenBucket does, through all changes', (name) => {
    let promises = 0;
    for (let run = 0; run < part(2000, 100); run++) {
      // That both targets do the same is checked elsewhere.
      const kernel = run % 2 === 0 ? 'wasm' : 'atomics';
      const twins = new Twins(new Random(SEED + run * 5), name, kernel);
      for (let i = 0; i < 60; i++) twins.step(`seed ${SEED}, run ${run}, step ${i}`);
      promises += twins.promises;
    }
    expect(promises).toBeGreaterThan(100);
  });

  it('does not make callers behind a promise wait for a burst that was lowered meanwhile', () => {
    const clock = ManualClock.create();
    const limits = [
      { rate: 1, burst: 1000 },
      { rate: 5, burst: 1000 },
    ];
    const set = LimitSet.create({ limits, clock });
    set.consumeOrDrain(1000);
    const first = set.reserve();
    for (const burst of [1, 1000, 1, 1000]) {
      set.reconfigure({ limits: limits.map(({ rate }) => ({ rate, burst })) });
    }
    expect([first?.dueUs, set.reserve()?.waitMs]).toEqual([1e6, 2000]);
  });
});
