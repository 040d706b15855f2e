import { describe, expect, test } from 'vitest';
import { attach, KeyedFixedWindow, KeyedTokenBucket, ManualClock } from '../../src/index.ts';
import { settled } from '../support/settled.ts';

// A change means for a key what it means for a limiter of its own: see keyed-references.test.ts, too.

const KERNELS = ['wasm', 'atomics'] as const;

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
    await settled();
    other.reconfigure({ rate: 1000 });
    for (const ms of [0.999, 1, 1.999, 2]) {
      options.clock.set(ms);
      await settled();
      await settled();
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
    // At its end, the burst of the tier is used, which is 90 more than the own limit has.
    expect(made.timeUntil('ann', 1)).toBe(151_000);
    expect(made.timeUntil('ann', 1, { tier: 'pro' })).toBe(60_050);
    expect(made.block('ann', 60_000)).toBe(true);
    expect(made.timeUntil('ann', 1, { tier: 'pro' })).toBe(60_050);
    options.clock.advance(60_000);
    expect(made.balance('ann', { tier: 'pro' })).toBe(0);
  });

  test('a debt does not grow when a key goes from tier to tier', () => {
    const tiers = { pro: { rate: 100, burst: 10 } };
    const made = KeyedTokenBucket.create({ rate: 1, burst: 10, tiers, ...base() });
    made.consumeOrDrain('ann', 10);
    expect(made.reserve('ann')?.waitMs).toBe(1000);
    const waits = [1, 2, 3].map(() => [
      made.reserve('ann', 1, { tier: 'pro' })?.waitMs,
      made.reserve('ann')?.waitMs,
    ]);
    expect(waits).toEqual([
      [1010, 2010],
      [2020, 3020],
      [3030, 4030],
    ]);
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
});
