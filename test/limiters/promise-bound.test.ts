import { describe, expect, it } from 'vitest';
import { type KernelName, LimitSet, ManualClock, type Reservation } from '../../src/index.ts';
import { mostBeyond, type Returned } from '../oracle/bound.ts';
import type { Limit } from '../support/kinds.ts';
import { type Make, PROMISING, type Subject } from '../support/promising.ts';
import { expectClose, expectSame } from '../support/quick.ts';
import { part, Random, SEED } from '../support/random.ts';

// The bound of each limit in EVERY interval of granted instants, for every limiter that can promise:
// random sequences of takes, reservations, drains, changes (up to ten in a turn), pauses, returns,
// cancellations and charges. A reservation counts at the instant at which it is due, as its limiter
// says when that instant has come.

interface Admitted {
  readonly atUs: number;
  n: number;
}
interface Promised {
  readonly reservation: Reservation;
  readonly n: number;
  seenUs: number;
}

const KERNELS = ['wasm', 'atomics'] as const;
/** Half a tick for each change, and the rounding of instants to doubles. */
const TOLERANCE = 1e-3;

class Run {
  readonly #random: Random;
  readonly #clock = ManualClock.create();
  readonly #subject: Subject;
  #limits: Limit[];
  readonly history: { atUs: number; limits: readonly Limit[] }[] = [];
  readonly admitted: Admitted[] = [];
  readonly returned: Returned[] = [];
  #promised: Promised[] = [];
  promises = 0;
  cancelled = 0;
  overtaken = 0;

  constructor(random: Random, make: Make, count: number, kernel: KernelName) {
    this.#random = random;
    this.#clock.advance(1000);
    const limit = (): Limit => ({
      rate: random.pick([1, 2, 5, 10, 20, 50]),
      burst: random.pick([1, 5, 10, 20]),
    });
    const limits: [Limit, ...Limit[]] = [limit()];
    while (limits.length < count) limits.push(limit());
    this.#limits = limits;
    this.history.push({ atUs: this.#now, limits });
    this.#subject = make(limits, this.#clock, kernel);
  }

  get #now(): number {
    return this.#clock.now();
  }

  /** Counts the reservations that have become due, and whether one overtook another. */
  settle(): void {
    let before = Number.NEGATIVE_INFINITY;
    this.#promised = this.#promised.filter((one) => {
      const dueUs = one.reservation.dueUs;
      if (dueUs < before - 1) this.overtaken++;
      before = dueUs;
      if (dueUs > this.#now) {
        one.seenUs = this.#now;
        return true;
      }
      this.admitted.push({ atUs: Math.max(dueUs, one.seenUs), n: one.n });
      return false;
    });
  }

  step(): void {
    const random = this.#random;
    const { limiter } = this.#subject;
    const least = Math.min(...this.#limits.map(({ burst }) => burst));
    this.settle();
    const chance = random.below(100);
    if (chance < 40) this.#clock.advance(random.pick([1, 10, 50, 100, 500, 1000]));
    else if (chance < 55) this.#admit(limiter.consumeOrDrain(random.pick([1, 3, 20])));
    else if (chance < 62) {
      const n = Math.min(random.pick([0.5, 1, 2]), least);
      if (limiter.tryConsume(n)) this.#admit(n);
    } else if (chance < 82) this.#reserve(Math.min(random.pick([1, 2, 5, 20]), least));
    else if (chance < 85) limiter.charge(random.pick([1, 3]));
    else if (chance < 88) this.#cancel(random.pick([1, 1, 3]));
    else if (chance < 92) this.#return();
    else this.#change(random.pick([1, 1, 1, 2, 10]));
    this.settle();
  }

  #admit(n: number): void {
    if (n > 0) this.admitted.push({ atUs: this.#now, n });
  }

  #reserve(n: number): void {
    const maxWaitMs = this.#random.pick([100, 5000, Number.POSITIVE_INFINITY]);
    const reservation = this.#subject.limiter.reserve(n, { maxWaitMs });
    if (reservation === undefined) return;
    if (reservation.waitMs === 0) this.#admit(n);
    else {
      this.promises++;
      this.#promised.push({ reservation, n, seenUs: this.#now });
    }
  }

  #cancel(times: number): void {
    for (let i = 0; i < times; i++) {
      const last = this.#promised.at(-1);
      if (last === undefined || last.reservation.dueUs <= this.#now) return;
      if (!last.reservation.cancel()) return;
      this.#promised.pop();
      this.cancelled++;
    }
  }

  #return(): void {
    const last = this.admitted.at(-1);
    if (last === undefined || last.n < 1) return;
    if (this.#subject.isPlain && this.#promised.length > 0) return;
    const n = 1 + this.#random.below(Math.floor(last.n));
    this.#subject.limiter.returnTokens(n);
    last.n -= n;
    this.returned.push({ atUs: this.#now, n, takenUs: last.atUs });
  }

  #change(times: number): void {
    for (let i = 0; i < times; i++) {
      this.#limits = this.#limits.map(({ rate, burst }) => ({
        rate: this.#random.pick([
          rate,
          rate,
          rate || 1,
          this.#random.pick([this.#subject.isPlain ? 1 : 0, 1, 2, 5, 10, 20, 50]),
        ]),
        burst: this.#random.pick([burst, burst, this.#random.pick([1, 5, 10, 20])]),
      }));
      this.#put();
    }
  }

  #put(): void {
    this.#subject.change(this.#limits);
    this.history.push({ atUs: this.#now, limits: this.#limits });
  }

  /** Ends every pause and serves what is promised. */
  finish(): number {
    this.#limits = this.#limits.map(({ rate, burst }) => ({ rate: rate || 1, burst }));
    this.#put();
    for (let i = 0; i < 200 && (i < 40 || this.#promised.length > 0); i++) {
      this.#clock.advance(250);
      this.settle();
      this.#admit(this.#subject.limiter.consumeOrDrain(20));
    }
    for (const { reservation, n } of this.#promised) {
      this.admitted.push({ atUs: reservation.dueUs, n });
    }
    return this.#promised.length;
  }

  /** How far the worst interval exceeds the bound of a limit. */
  excess(limit: number): { over: number; text: string } {
    const most = Math.max(...this.history.map(({ limits }) => limits[limit]?.burst ?? 0));
    const rates = this.history.map(({ atUs, limits }) => ({
      ...{ atUs, rate: limits[limit]?.rate ?? 0 },
    }));
    const { beyond, text } = mostBeyond(this.admitted, rates, this.returned);
    return { over: beyond - most, text: `${text}, burst ${most}` };
  }
}

// README.md: "In any interval of length t, a bucket admits at most burst + rate x t"
// docs/keys.md: "A change never admits more than the limits before and after it allow"
describe('in every interval of granted instants, each limit admits at most burst + rate * t', () => {
  for (const [name, { make, counts }] of Object.entries(PROMISING)) {
    it(`a ${name} whose limits change while tokens are promised, returned, cancelled and charged`, () => {
      let promises = 0;
      let admitted = 0;
      for (let run = 0; run < part(5000, 40); run++) {
        const random = new Random(SEED + run * 7);
        // That both targets do the same is checked elsewhere.
        const one = new Run(random, make, random.pick(counts), KERNELS[run % 2] ?? 'wasm');
        for (let i = 0; i < 80; i++) one.step();
        promises += one.promises;
        // A promise counts only once it is due.
        admitted += one.finish() === 0 ? one.admitted.length : 0;
        const label = `seed ${SEED}, run ${run}`;
        expectSame(one.overtaken, 0, `${label}: promises overtaken`);
        const count = one.history[0]?.limits.length ?? 0;
        for (let limit = 0; limit < count; limit++) {
          const { over, text } = one.excess(limit);
          if (over < TOLERANCE) continue;
          expect(over, `${label}, limit ${limit} of ${count}: ${text}`).toBeLessThan(TOLERANCE);
        }
      }
      expect(promises).toBeGreaterThan(100);
      expect(admitted).toBeGreaterThan(promises);
    }, 600_000);
  }
});

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
    for (let run = 0; run < part(2000, 40); run++) {
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
