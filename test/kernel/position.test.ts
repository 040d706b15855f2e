import { describe, expect, test } from 'vitest';
import { continuous, perInterval } from '../../src/kernel/bucket/schedule.ts';
import { KERNELS, PositionScene } from './positions.ts';

const DAY_US = 86_400e6;
/** A nanosecond: more than the rounding of an instant plus a tick. */
const CLOSE_US = 1e-3;

describe.each(Object.entries(KERNELS))('a position in the queue, with the %s kernel', (_, open) => {
  test('keeps its tokens when the rate changes', () => {
    const scene = new PositionScene(open, continuous(10, 100));
    const first = scene.waiting(30);
    const second = scene.waiting(10);
    expect([first.dueUs(), second.dueUs()]).toEqual([3_000_000, 4_000_000]);
    scene.nowUs = 1_000_000; // 20 and 30 tokens are missing
    scene.change(continuous(1000, 100));
    expect([first.dueUs(), second.dueUs()]).toEqual([1_020_000, 1_030_000]);
    scene.nowUs = 1_010_000; // 10 and 20
    scene.change(continuous(1, 100));
    expect([first.dueUs(), second.dueUs()]).toEqual([11_010_000, 21_010_000]);
    scene.change(perInterval(15, 100, 100));
    expect([first.dueUs(), second.dueUs()]).toEqual([1_110_000, 1_210_000]);
    scene.change(continuous(Number.POSITIVE_INFINITY, 100));
    expect([first.dueUs(), second.dueUs()]).toEqual([1_010_000, 1_010_000]);
  });

  test('that was due before a change keeps its instant', () => {
    const scene = new PositionScene(open, continuous(10, 100));
    const position = scene.waiting(5);
    scene.nowUs = 600_000;
    scene.change(continuous(1e-3, 100));
    const other = scene.waiting(5);
    scene.nowUs = 700_000;
    scene.change(continuous(10, 100));
    expect(position.dueUs()).toBe(500_000);
    expect(other.dueUs()).toBeGreaterThan(700_000);
  });

  test.each([7, 9, 100])(
    'is found again after %i unobserved changes, to a tick for each',
    (changes) => {
      // The tokens of a tick at 2,000 a second take this long to arrive at 1 a second.
      const A_TICK_US = 0.5;
      const scene = new PositionScene(open, continuous(10, 100));
      const positions = Array.from({ length: 5 }, () => scene.waiting(6));
      const rates = [1000, 3, 50, 7, 1, 2000, 20];
      let flowed = 0;
      for (let i = 0; i < changes; i++) {
        const rate = rates[i % rates.length] ?? 1;
        scene.nowUs += 10;
        flowed += ((i === 0 ? 10 : (rates[(i - 1) % rates.length] ?? 1)) * 10) / 1e6;
        scene.change(continuous(rate, 100));
      }
      const rate = rates[(changes - 1) % rates.length] ?? 1;
      for (const [i, position] of positions.entries()) {
        const dueUs = scene.nowUs + ((6 * (i + 1) - flowed) / rate) * 1e6;
        expect(Math.abs(position.dueUs() - dueUs)).toBeLessThan(A_TICK_US * changes);
      }
      const lag = scene.paidUs() - (positions.at(-1)?.dueUs() ?? 0);
      expect(Math.abs(lag)).toBeLessThan(A_TICK_US * changes);
    },
  );

  test('moves up when tokens are returned, and is not overtaken', () => {
    const scene = new PositionScene(open, continuous(1, 5));
    const positions = [2, 2, 2].map((n) => scene.waiting(n));
    scene.nowUs = 500_000;
    expect(scene.kernel.returnTokens(scene.nowUs, 1)).toBe(true);
    expect(positions.map((position) => position.dueUs())).toEqual([1e6, 3e6, 5e6]);
    expect(scene.waiting(1).dueUs()).toBe(6e6);
    scene.kernel.returnTokens(scene.nowUs, 3);
    // The first is due at once; the second has half a second to go.
    expect(positions.map((position) => position.dueUs())).toEqual([500_000, 500_000, 2e6]);
    scene.nowUs = 600_000;
    scene.change(continuous(10, 5));
    expect(positions.map((position) => position.dueUs())).toEqual([500_000, 500_000, 740_000]);
  });

  test('waits while the bucket is paused, and continues with the tokens it had', () => {
    const scene = new PositionScene(open, continuous(1, 5));
    const first = scene.waiting(2);
    const second = scene.waiting(2);
    scene.nowUs = 3e6;
    scene.change(continuous(0, 5, 4096e6));
    scene.nowUs = 9e6;
    const third = scene.waiting(1);
    expect([first, second, third].map((position) => position.dueUs())).toEqual([
      2e6,
      Infinity,
      Infinity,
    ]);
    scene.change(continuous(2, 5));
    expect([first, second, third].map((position) => position.dueUs())).toEqual([2e6, 9.5e6, 10e6]);
  });

  test('is never later than the largest possible debt', () => {
    const scene = new PositionScene(open, continuous(1e6, 1e9));
    const position = scene.waiting(1e9);
    scene.change(continuous(1e-6, 1));
    expect(position.dueUs() / (365.25 * DAY_US)).toBeCloseTo(4.46, 2);
    expect(position.dueUs()).toBeCloseTo(scene.paidUs(), 0);
  });

  test('is not moved by the renewal of a record', () => {
    const scene = new PositionScene(open, continuous(1e-5, 100)); // a token takes 1.2 days
    const position = scene.waiting(50);
    const promisedUs = position.dueUs();
    scene.nowUs = 13 * DAY_US;
    const before = scene.kernel.balance(scene.nowUs);
    scene.waiting(1);
    expect(Math.abs(position.dueUs() - promisedUs)).toBeLessThan(CLOSE_US);
    expect(before).toBeLessThan(0);
  });
});
