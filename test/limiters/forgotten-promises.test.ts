import { describe, expect, it } from 'vitest';
import { type KernelName, KeyedLimitSet, ManualClock, type Reservation } from '../../src/index.ts';
import type { RateLimit } from '../oracle/limit-set.ts';
import { expectClose, expectSame } from '../support/quick.ts';
import { part, Random, SEED } from '../support/random.ts';

// What a reset of a key of a limit set has forgotten, and what is promised after it.

describe.each(['wasm', 'atomics'] as const)('a key of a KeyedLimitSet, in %s', (kernel) => {
  const fast = { rate: 10, burst: 10 };
  const slow = { rate: 1, burst: 10 };

  function scene() {
    const clock = ManualClock.create();
    const table = KeyedLimitSet.create({ limits: [fast, slow], capacity: 4, clock, kernel });
    table.consumeOrDrain('ann', 10);
    const reservation = table.reserve('ann', 5);
    return { clock, table, reservation };
  }

  it.each([true, false])(
    'does not wait ever longer if its limits take turns in being slow, with promises since its reset: %s',
    (isPromised) => {
      const { table, reservation } = scene();
      table.reset('ann');
      table.consumeOrDrain('ann', 10);
      const later = isPromised ? table.reserve('ann', 5) : undefined;
      for (let i = 0; i < 10; i++) {
        table.reconfigure({ limits: i % 2 === 0 ? [slow, fast] : [fast, slow] });
        // With the first change, as without a reset: see docs/algorithms-limit-sets.md.
        if (isPromised) expect(later?.dueUs).toBe(15_000_000);
        expect(reservation?.dueUs).toBeLessThanOrEqual(isPromised ? 15_000_000 : 5_000_000);
      }
      if (!isPromised) expect(reservation?.dueUs).toBe(5_000_000);
    },
  );

  it('waits for no longer after a pause, however its limits took turns', () => {
    const { clock, table, reservation } = scene();
    table.reset('ann');
    table.consumeOrDrain('ann', 10);
    table.reserve('ann', 5);
    table.reconfigure({ limits: [{ rate: 0 }, {}] });
    clock.advance(10_000);
    expect(reservation?.dueUs).toBe(Number.POSITIVE_INFINITY);
    for (const limits of [
      [fast, slow],
      [slow, fast],
    ] as const) {
      table.reconfigure({ limits });
      expect(reservation?.dueUs).toBeLessThanOrEqual(25_000_000);
    }
  });

  it('waits for no longer than one never seen, if its limits take turns during a pause', () => {
    const clock = ManualClock.create();
    const free = { rate: 10, burst: 10 };
    const table = KeyedLimitSet.create({ limits: [fast, slow, free], capacity: 4, clock, kernel });
    table.consumeOrDrain('ann', 10);
    const forgotten = table.reserve('ann', 5);
    table.reset('ann');
    const promised = ['ann', 'bob'].map((key) => {
      table.consumeOrDrain(key, 10);
      return table.reserve(key, 5);
    });
    const dues = () => promised.map((one) => one?.dueUs);
    for (let i = 0; i < 10; i++) {
      const [first, second] = i % 2 === 0 ? [slow, fast] : [fast, slow];
      table.reconfigure({ limits: [first, second, { rate: 0 }] });
      clock.advance(1000);
      expect([forgotten?.dueUs, ...dues()]).toEqual([0, 0, 0].map(() => Infinity));
    }
    table.reconfigure({ limits: [fast, slow, free] });
    // At most the burst and the five are pending, at 1 a second.
    expect(dues()).toEqual([25_000_000, 25_000_000]);
    // As after a restart without a pause.
    expect(forgotten?.dueUs).toBe(10_000_000);
    table.reconfigure({ limits: [fast, fast, fast] });
    expect(forgotten?.dueUs).toBe(10_000_000);
  });

  it('gets nothing from the cancelling of what was reserved before its reset', () => {
    const { table, reservation } = scene();
    table.reconfigure({ limits: [{ burst: 20 }, { burst: 20 }] });
    const other = table.reserve('ann', 5);
    table.reset('ann');
    expect(table.balance('ann')).toBe(10);
    for (const one of [other, reservation]) expect(one?.cancel()).toBe(false);
    expect(table.balance('ann')).toBe(10);
  });
});

it('makes due what a change has moved, when the bucket is reclaimed before anybody looks', () => {
  const clock = ManualClock.create();
  const limits = [{ rate: 10, burst: 4 }] as const;
  const table = KeyedLimitSet.create({ limits, capacity: 1, clock });
  const reservations = ['ann', 'bob'].map((key) => {
    table.consumeOrDrain(key, 4);
    return table.reserve(key, 4);
  });
  table.reconfigure({ limits: [{ rate: 0 }] });
  for (const one of reservations) expect(one?.dueUs).toBe(Number.POSITIVE_INFINITY);
  table.reconfigure({ limits: [{ rate: 10 }] });
  clock.advance(10_000);
  for (const key of ['carl', 'dora']) table.tryConsume(key);
  expect(table.stats().reclaimed).toBe(2);
  for (const one of reservations) expect(one?.dueUs).toBeLessThanOrEqual(clock.now());
});

/** A key with promises before its reset, and one never seen, which get the same calls. */
class Twins {
  readonly #random: Random;
  readonly #clock = ManualClock.create();
  readonly #table: KeyedLimitSet;
  #limits: [RateLimit, ...RateLimit[]];
  readonly #forgotten: Reservation[] = [];
  readonly #pairs: (readonly [Reservation, Reservation])[] = [];
  promises = 0;

  constructor(random: Random, kernel: KernelName) {
    this.#random = random;
    const limit = () => ({ rate: random.pick([1, 2, 5, 10, 50]), burst: random.pick([5, 10, 20]) });
    this.#limits = random.pick([
      [limit(), limit()],
      [limit(), limit(), limit()],
    ]);
    const options = { limits: this.#limits, clock: this.#clock, kernel };
    this.#table = KeyedLimitSet.create({ ...options, capacity: 4 });
    this.#table.consumeOrDrain('old', 20);
    for (let i = random.below(4); i >= 0; i--) {
      const one = this.#table.reserve('old', random.pick([1, 2, 5]));
      if (one !== undefined && one.waitMs > 0) this.#forgotten.push(one);
    }
    this.#table.reset('old');
  }

  step(label: string): void {
    const random = this.#random;
    const wasPaused = this.#isPaused;
    const before = this.#forgotten.map(({ dueUs }) => dueUs);
    const n = random.pick([1, 2, 5]);
    const chance = random.below(20);
    if (chance < 5) this.#clock.advance(random.pick([1, 10, 50, 100, 500]));
    else if (chance < 8) {
      const [old, fresh] = ['old', 'new'].map((key) => this.#table.consumeOrDrain(key, n));
      expectSame(old, fresh, label);
    } else if (chance < 14) this.#reserve(n);
    else this.#change();
    for (const [old, fresh] of this.#pairs) {
      // What was due when a change came may be due by then or at the change.
      if (fresh.dueUs <= this.#clock.now() && old.dueUs <= this.#clock.now()) continue;
      if (old.dueUs !== fresh.dueUs) expectClose(old.dueUs / fresh.dueUs, 1, 6, label);
    }
    if (!(wasPaused && this.#isPaused)) return;
    for (const [i, { dueUs }] of this.#forgotten.entries()) {
      if (before[i] === Infinity) expectSame(dueUs, Infinity, label);
    }
  }

  get #isPaused(): boolean {
    return this.#limits.some(({ rate }) => rate === 0);
  }

  #reserve(n: number): void {
    const [old, fresh] = ['old', 'new'].map((key) => this.#table.reserve(key, n));
    if (old === undefined || fresh === undefined || old.waitMs === 0) return;
    this.promises++;
    this.#pairs.push([old, fresh]);
  }

  #change(): void {
    const random = this.#random;
    const next = this.#limits.map(({ rate, burst }) => ({
      rate: random.pick([rate, rate || 1, random.pick([0, 1, 2, 5, 10, 50])]),
      burst: random.pick([burst, burst, random.pick([5, 10, 20])]),
    }));
    this.#limits = next as [RateLimit, ...RateLimit[]]; // as many
    this.#table.reconfigure({ limits: this.#limits });
  }
}

// A reset delays nothing that is promised after it: see docs/algorithms-limit-sets.md.
it('moves what is promised after a reset as for a key that was never seen, and nothing forgotten in a pause', () => {
  let promises = 0;
  for (let run = 0; run < part(5000, 40); run++) {
    const twins = new Twins(new Random(SEED + run * 7), run % 2 === 0 ? 'wasm' : 'atomics');
    for (let i = 0; i < 40; i++) twins.step(`seed ${SEED}, run ${run}, step ${i}`);
    promises += twins.promises;
  }
  expect(promises).toBeGreaterThan(100);
});
