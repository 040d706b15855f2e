import { expect, test } from 'vitest';
import {
  type KernelName,
  KeyedTokenBucket,
  ManualClock,
  type Reservation,
} from '../../src/index.ts';
import { type Granted, mostBeyond, type RateChange } from '../oracle/bound.ts';
import { part, Random, SEED } from '../support/random.ts';

// The bound of a key whose calls name several tiers, in EVERY interval of granted instants, while
// rates change and bursts are raised, unless tokens are promised under a tier that the key has left.
// The rate in force is that of the tier named last, or a faster
// one under which tokens are promised.

const NAMES = [undefined, 'pro', 'free'] as const;
/** Half a tick for each change of a limit or a tier. */
const TOLERANCE = 1e-3;

interface Promised {
  readonly reservation: Reservation;
  readonly n: number;
  readonly tier: number;
}

class Run {
  readonly #random: Random;
  readonly #clock = ManualClock.create();
  readonly #limits: { rate: number; burst: number }[];
  readonly #table: KeyedTokenBucket;
  /** The rate from each instant on. */
  readonly #rates: RateChange[] = [];
  readonly #admitted: Granted[] = [];
  #promised: Promised[] = [];
  #tier = 0;
  /** The largest burst so far. */
  #most: number;
  promises = 0;

  constructor(random: Random, kernel: KernelName) {
    this.#random = random;
    this.#limits = NAMES.map(() => ({
      rate: random.pick([1, 2, 5, 20]),
      burst: random.pick([1, 5, 20]),
    }));
    this.#most = Math.max(...this.#limits.map(({ burst }) => burst));
    const [own, pro, free] = this.#limits as [Limit, Limit, Limit];
    const tiers = { pro, free };
    const options = { capacity: 8, clock: this.#clock, kernel };
    this.#table = KeyedTokenBucket.create({ ...own, tiers, ...options });
    this.#note();
  }

  get #now(): number {
    return this.#clock.now();
  }

  /** Notes the rates from now on, until another call. */
  #note(): void {
    const ends = this.#promised.map(({ reservation: { dueUs } }) => dueUs);
    for (const at of [this.#now, ...ends].sort((a, b) => a - b)) {
      if (at < this.#now) continue;
      const pending = this.#promised.filter(({ reservation }) => reservation.dueUs > at);
      const tiers = [this.#tier, ...pending.map(({ tier }) => tier)];
      this.#rates.push({
        atUs: at,
        rate: Math.max(...tiers.map((i) => this.#limits[i]?.rate ?? 0)),
      });
    }
  }

  #settle(): void {
    this.#promised = this.#promised.filter(({ reservation: { dueUs }, n }) => {
      if (dueUs > this.#now) return true;
      this.#admitted.push({ atUs: dueUs, n });
      return false;
    });
  }

  step(): void {
    const random = this.#random;
    const chance = random.below(20);
    if (chance < 7) this.#clock.advance(random.pick([1, 50, 200, 1000]));
    this.#settle();
    // Forget what was noted about later instants.
    while ((this.#rates.at(-1)?.atUs ?? 0) > this.#now) this.#rates.pop();
    if (chance >= 17) this.#change();
    else if (chance >= 7) this.#call(chance, random.below(NAMES.length));
    this.#note();
  }

  #call(chance: number, tier: number): void {
    const name = NAMES[tier];
    const key = this.#table.for('ann', name === undefined ? undefined : { tier: name });
    const n = Math.min(this.#random.pick([1, 2, 5]), this.#limits[tier]?.burst ?? 0);
    // A refused call changes the tier to a faster one, if nothing is owed.
    const isFaster = (this.#limits[tier]?.rate ?? 0) > (this.#limits[this.#tier]?.rate ?? 0);
    let isUnderThis = isFaster && key.balance() >= 0;
    if (chance < 10) {
      const taken = key.consumeOrDrain(20);
      isUnderThis ||= taken > 0;
      if (taken > 0) this.#admitted.push({ atUs: this.#now, n: taken });
    } else if (chance < 15) {
      const reservation = key.reserve(n, { maxWaitMs: this.#random.pick([0, 500, 5000]) });
      isUnderThis ||= reservation !== undefined;
      if (reservation?.waitMs === 0) this.#admitted.push({ atUs: this.#now, n });
      else if (reservation !== undefined) {
        this.promises++;
        this.#promised.push({ reservation, n, tier });
      }
    } else {
      key.charge(1);
      isUnderThis = true;
    }
    if (isUnderThis) this.#tier = tier;
  }

  #change(): void {
    // Promises follow the limit that made them, and the bucket that of the tier named last.
    if (this.#promised.some(({ tier }) => tier !== this.#tier)) return;
    for (const limit of this.#limits) {
      if (this.#random.below(2) === 0) limit.rate = this.#random.pick([1, 2, 5, 20]);
      if (this.#random.below(4) === 0) limit.burst += 5;
      this.#most = Math.max(this.#most, limit.burst);
    }
    const [own, pro, free] = this.#limits as [Limit, Limit, Limit];
    this.#table.reconfigure({ ...own, tiers: { pro, free } });
  }

  /** How far the worst interval exceeds the bound. */
  excess(): number {
    return mostBeyond(this.#admitted, this.#rates).beyond - this.#most;
  }
}

type Limit = { readonly rate: number; readonly burst: number };

test('a key that changes tiers is admitted at most the largest burst, and the rates in force', () => {
  let promises = 0;
  for (let run = 0; run < part(5000); run++) {
    // That both targets do the same is checked elsewhere.
    const one = new Run(new Random(SEED + run * 3), run % 2 === 0 ? 'wasm' : 'atomics');
    for (let i = 0; i < 80; i++) one.step();
    expect(one.excess(), `seed ${SEED}, run ${run}`).toBeLessThan(TOLERANCE);
    promises += one.promises;
  }
  expect(promises).toBeGreaterThan(100);
});
