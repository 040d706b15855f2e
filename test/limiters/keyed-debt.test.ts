import { describe, expect, test } from 'vitest';
import { KeyedFixedWindow, KeyedTokenBucket, ManualClock, Region } from '../../src/index.ts';

describe.each(['wasm', 'atomics'] as const)('a key, with kernel %s,', (kernel) => {
  const made = (capacity = 100) => {
    const clock = ManualClock.create();
    const limit = { rate: 10, burst: 5, capacity };
    return { clock, table: KeyedTokenBucket.create({ ...limit, clock, kernel, stats: true }) };
  };

  test('never seen has no entry after a reset, nor after wrong amounts, which are named', () => {
    const { table } = made();
    expect(() => table.charge('ann', 1e10)).toThrow(/^n must leave a debt of at most 4.4 years/);
    expect(() => table.charge('ann', -1)).toThrow(/^n must be/);
    expect(() => table.block('ann', -1)).toThrow(/^ms must be a number at least 0 and at most/);
    expect(() => table.block('ann', Number.NaN)).toThrow(RangeError);
    table.reset('ann');
    expect(table.stats().entries).toBe(0);
  });

  test('keeps its entry while it is in debt, however full the table is', () => {
    const { clock, table } = made(4);
    table.charge('ann', 1000);
    for (let i = 0; i < 200; i++) {
      table.tryConsume(i);
      clock.advance(100);
    }
    expect(table.balance('ann')).toBeCloseTo(-795);
  });

  test('settles an estimate through the reservation of any key', () => {
    const { table } = made();
    const [ann, bob] = [table.reserve('ann', 3), table.reserve('bob', 4)];
    expect(ann?.settle(9)).toBe(400);
    expect(bob?.settle(1)).toBe(0);
    expect([table.balance('ann'), table.balance('bob')]).toEqual([-4, 4]);
    expect(table.for('bob').settle(1, 2)).toBe(0);
    expect(table.balance('bob')).toBe(3);
  });

  test.each([
    [2.8e6, 1e11],
    [1e7, 50 * 86_400_000],
    [1e9, 50 * 86_400_000],
  ])('is refused for as long as a block can last, at %d a second', (rate, least) => {
    const clock = ManualClock.create();
    const table = KeyedTokenBucket.create({ rate, burst: 100, capacity: 10, clock, kernel });
    expect(table.block('ann', 1e11)).toBe(true);
    clock.advance(least - 1);
    expect(table.tryConsume('ann')).toBe(false);
    const windows = { limit: rate, intervalMs: 1000, capacity: 10, clock, kernel };
    const counted = KeyedFixedWindow.create(windows);
    expect(counted.block('ann', 1e11)).toBe(true);
    clock.advance(least - 1000);
    expect(counted.tryConsume('ann')).toBe(false);
  });

  test.each([1, 3, 40])(
    'stays in its debt if a block knows only the limit before: %i/s',
    (rate) => {
      const region = Region.create();
      const clock = ManualClock.open(region, 'clock');
      const options = { rate: 10, burst: 5, capacity: 100, clock };
      const behind = KeyedTokenBucket.open(region, 'api', { ...options, kernel });
      const other = kernel === 'wasm' ? 'atomics' : 'wasm';
      const table = KeyedTokenBucket.open(region, 'api', { ...options, kernel: other });
      clock.advance(5000);
      table.reconfigure({ rate });
      table.charge('ann', 25);
      behind.block('ann', 10);
      expect([behind.balance('ann'), table.balance('ann')]).toEqual([-20, -20]);
      // A block that is longer than the debt counts at the new rate.
      table.reconfigure({ rate: 2 * rate });
      table.charge('bob', 6);
      behind.block('bob', 10_000);
      expect(table.balance('bob')).toBe(-20 * rate);
    },
  );

  test('of an unlimited table owes nothing, and cannot be blocked', () => {
    const rate = Number.POSITIVE_INFINITY;
    const table = KeyedTokenBucket.create({ rate, burst: 5, capacity: 5, kernel });
    expect([table.charge('ann', 1e9), table.block('ann', 1000)]).toEqual([0, false]);
    expect(table.tryConsume('ann')).toBe(true);
  });
});
