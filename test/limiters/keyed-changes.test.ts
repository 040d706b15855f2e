import { setImmediate } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import {
  attach,
  type KernelName,
  KeyedFixedWindow,
  KeyedTokenBucket,
  ManualClock,
  type Reservation,
  TokenBucket,
} from '../../src/index.ts';
import { part, Random, SEED } from '../support/random.ts';

// A change means for a key what it means for a limiter of its own.

const KERNELS = ['wasm', 'atomics'] as const;

async function settle(): Promise<void> {
  for (let turn = 0; turn < 5; turn++) await setImmediate();
}

describe.each(KERNELS)('a change of the limits of a table (%s)', (kernel) => {
  const base = () => ({ capacity: 20, clock: ManualClock.create(), kernel });

  test('raising a window gives a key the rest of it at once', () => {
    const made = KeyedFixedWindow.create({ limit: 1, intervalMs: 60_000, ...base() });
    expect([made.tryConsume('ann'), made.tryConsume('ann')]).toEqual([true, false]);
    made.reconfigure({ limit: 10 });
    expect(made.consumeOrDrain('ann', 100)).toBe(9);
    made.clock.now = () => 60_000_000;
    expect(made.consumeOrDrain('ann', 100)).toBe(10);
  });

  test('a window keeps its count while its limit goes down and up again', () => {
    const options = base();
    const made = KeyedFixedWindow.create({ limit: 10, intervalMs: 1000, ...options });
    made.tryConsume('ann', 7);
    made.reconfigure({ limit: 5 });
    expect([made.available('ann'), made.timeUntil('ann', 1)]).toEqual([0, 1000]);
    made.reconfigure({ limit: 10 });
    expect(made.available('ann')).toBe(3);
    made.reconfigure({ limit: 5 });
    options.clock.advance(1000);
    expect(made.consumeOrDrain('ann', 100)).toBe(5);
  });

  test('a debt of windows is paid at the limits in force', () => {
    const options = base();
    const made = KeyedFixedWindow.create({ limit: 10, intervalMs: 1000, ...options });
    // Of 34 tokens, the fourth window has 4.
    made.charge('ann', 34);
    made.reconfigure({ limit: 20 });
    expect(made.timeUntil('ann', 6)).toBe(1000);
    made.reconfigure({ limit: 5 });
    expect([made.timeUntil('ann', 1), made.timeUntil('ann', 2)]).toEqual([6000, 7000]);
    made.charge('ann', 7);
    expect([made.timeUntil('ann', 4), made.timeUntil('ann', 5)]).toEqual([8000, 9000]);
    made.block('ann', 9500);
    expect(made.timeUntil('ann', 5)).toBe(10_000);
  });

  test('a waiter of a key is served as soon as the new rate allows, on every thread', async () => {
    const options = base();
    const made = KeyedTokenBucket.create({ rate: 0.1, burst: 1, ...options });
    const other = attach(structuredClone(made.handle));
    made.tryConsume('ann');
    const waits = [made.wait('ann'), other.wait('ann')];
    const over: number[] = [];
    for (const wait of waits) void wait.then(() => over.push(options.clock.nowMs));
    await settle();
    other.reconfigure({ rate: 1000 });
    for (const ms of [0.999, 1, 1.999, 2]) {
      options.clock.set(ms);
      await settle();
      await settle();
    }
    expect(over).toEqual([1, 2]);
    await Promise.all(waits);
  });

  test('a reservation of a key moves with every change, and is cancelled only if none came', () => {
    const options = base();
    const made = KeyedTokenBucket.create({ rate: 1, burst: 4, ...options });
    made.consumeOrDrain('ann', 4);
    const reserved = made.reserve('ann', 4);
    options.clock.advance(1000);
    made.reconfigure({ rate: 100 });
    expect(reserved?.dueUs).toBe(1_030_000);
    made.reconfigure({ rate: 0.5, burst: 1 });
    expect(reserved?.dueUs).toBe(7_000_000);
    expect(reserved?.cancel()).toBe(false);
    const last = made.reserve('ann', 1);
    expect([last?.dueUs, last?.cancel(), made.balance('ann')]).toEqual([9_000_000, true, -3]);
  });

  test('a customer who moves to a larger plan has the rest of it, and keeps waiting calls', () => {
    const tiers = { pro: { rate: 20, burst: 100 } };
    const made = KeyedTokenBucket.create({ rate: 1, burst: 10, tiers, ...base() });
    expect(made.consumeOrDrain('ann', 100)).toBe(10);
    expect(made.tryConsume('ann')).toBe(false);
    expect(made.consumeOrDrain('ann', 100, { tier: 'pro' })).toBe(90);
  });

  test('a change of one rate leaves what keys of all tiers hold', () => {
    const tiers = { pro: { rate: 20, burst: 100 } };
    const made = KeyedTokenBucket.create({ rate: 1, burst: 20, tiers, ...base() });
    made.tryConsume('half', 10);
    made.tryConsume('full', 0);
    made.tryConsume('pro', 60, { tier: 'pro' });
    made.reconfigure({ rate: 4 });
    expect([made.balance('half'), made.balance('full')]).toEqual([10, 20]);
    expect(made.balance('pro', { tier: 'pro' })).toBe(40);
  });

  test('a block holds for every tier, and a change does not end it', () => {
    const options = base();
    const tiers = { pro: { rate: 20, burst: 100 } };
    const made = KeyedTokenBucket.create({ rate: 1, burst: 10, tiers, ...options });
    made.tryConsume('ann', 50, { tier: 'pro' });
    made.block('ann', 60_000);
    expect(made.timeUntil('ann', 1, { tier: 'pro' })).toBe(60_050);
    expect(made.block('ann', 60_000)).toBe(true);
    expect(made.timeUntil('ann', 1, { tier: 'pro' })).toBe(60_050);
    options.clock.advance(60_000);
    expect(made.balance('ann', { tier: 'pro' })).toBe(0);
  });

  test('keys without a place share a bucket that follows every change', () => {
    const options = { ...base(), capacity: 1 };
    const made = KeyedTokenBucket.create({ rate: 1, burst: 10, ...options });
    for (let i = 0; i < 2; i++) made.charge(i, 1e6);
    expect(made.consumeOrDrain('ann', 100)).toBe(10);
    const reserved = made.reserve('bob');
    made.reconfigure({ rate: 1000 });
    expect([reserved?.dueUs, made.stats().shared]).toEqual([1000, 2]);
    options.clock.advance(10);
    expect(made.balance('cid')).toBe(9);
  });

  test('a key is at any time what a TokenBucket of its own is, through all changes', () => {
    let promises = 0;
    for (let run = 0; run < part(2000, 100); run++) {
      promises += compare(new Random(SEED + run), kernel, `seed ${SEED}, run ${run}`);
    }
    expect(promises).toBeGreaterThan(100);
  });

  test('a window never admits more than the largest limit it had, nor less than it has', () => {
    for (let run = 0; run < part(2000, 100); run++) {
      windows(new Random(SEED + run), kernel, `seed ${SEED}, run ${run}`);
    }
  });
});

/** Random calls on a key, among others that compete for its place, and on a bucket. */
function compare(random: Random, kernel: KernelName, label: string): number {
  const clock = ManualClock.create();
  const limit = { rate: random.pick([1, 2, 8]), burst: random.pick([1, 4, 16]) };
  const table = KeyedTokenBucket.create({ ...limit, capacity: 2, clock, kernel });
  const own = TokenBucket.create({ ...limit, clock, kernel });
  let reserved: [Reservation, Reservation][] = [];
  let promises = 0;
  /** What can be returned, under the limit in force. */
  let taken = 0;
  for (let i = 0; i < 60; i++) {
    const n = random.pick([0.5, 1, 1, 2, 4]);
    const chance = random.below(20);
    if (chance < 7) clock.advance(random.pick([1, 125, 250, 1000, 20_000]));
    else if (chance < 9) {
      const isTaken = own.tryConsume(n);
      expect(table.tryConsume('ann', n), label).toBe(isTaken);
      if (isTaken) taken += n;
    } else if (chance < 11) {
      const drained = own.consumeOrDrain(9);
      expect(table.consumeOrDrain('ann', 9), label).toBe(drained);
      taken += drained;
    } else if (chance === 11) {
      const ms = table.charge('ann', n);
      expect(ms, label).toBeCloseTo(own.charge(n));
    } else if (chance < 14) {
      table.tryConsume(random.below(3));
    } else if (chance < 17 && n <= limit.burst) {
      const pair = [table.reserve('ann', n), own.reserve(n)] as const;
      if (pair[0] !== undefined && pair[1] !== undefined) reserved.push([pair[0], pair[1]]);
      promises++;
    } else if (chance === 17 && own.balance() >= 0 && n <= taken) {
      table.returnTokens('ann', n);
      own.returnTokens(n);
      taken -= n;
    } else if (chance > 17) {
      taken = 0;
      if (random.below(2) === 0) limit.rate = random.pick([0.5, 1, 2, 8, 64]);
      if (random.below(2) === 0) limit.burst = random.pick([1, 2, 4, 16]);
      table.reconfigure(limit);
      own.reconfigure(limit);
    }
    expect(table.balance('ann'), label).toBeCloseTo(own.balance(), 5);
    for (const [a, b] of reserved) expect(a.dueUs, label).toBeCloseTo(b.dueUs, 1);
    reserved = reserved.filter(([, { dueUs }]) => dueUs > clock.now());
  }
  return promises;
}

/** Random calls under two tiers of a window, and changes of their limits. */
function windows(random: Random, kernel: KernelName, label: string): void {
  const clock = ManualClock.create();
  const limits = [random.pick([1, 3, 10]), random.pick([1, 7, 40])];
  const [first = 1, second = 1] = limits;
  const options = { intervalMs: 1000, capacity: 2, clock, kernel };
  const tiers = { pro: { limit: second } };
  const table = KeyedFixedWindow.create({ limit: first, tiers, ...options });
  let window = 0;
  let used = 0;
  for (let i = 0; i < 60; i++) {
    const chance = random.below(10);
    if (chance < 2) clock.advance(random.pick([1, 400, 1000]));
    if (Math.floor(clock.nowMs / 1000) !== window) {
      window = Math.floor(clock.nowMs / 1000);
      used = 0;
    }
    const tier = random.below(2);
    const choice = tier === 1 ? { tier: 'pro' } : {};
    const left = Math.max(0, (limits[tier] ?? 0) - used);
    expect(table.available('ann', choice), label).toBe(left);
    if (chance < 5) {
      const n = 1 + random.below(4);
      expect(table.tryConsume('ann', n, choice), label).toBe(n <= left);
      if (n <= left) used += n;
    } else if (chance === 5) {
      const taken = table.consumeOrDrain('ann', 8, choice);
      expect(taken, label).toBe(Math.min(8, left));
      used += taken;
    } else if (chance === 6) {
      table.tryConsume(random.below(3));
    } else if (chance > 6) {
      limits[tier] = random.pick([1, 2, 5, 11, 100]);
      const [limit = 1, pro = 1] = limits;
      table.reconfigure({ limit, tiers: { pro: { limit: pro } } });
    }
  }
}
