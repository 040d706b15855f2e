import { describe, expect, test } from 'vitest';
import { type KernelName, LimitSet, ManualClock } from '../../src/index.ts';

// Changes of several limits while tokens are promised that writing the proof has found: see
// docs/algorithms-limit-sets.md.

const KERNELS: readonly KernelName[] = ['wasm', 'atomics'];

describe.each(KERNELS)(
  'a limit set whose limits change while tokens are promised (%s)',
  (kernel) => {
    const make = (limits: readonly { rate: number; burst: number }[]) => {
      const clock = ManualClock.create();
      const set = LimitSet.create({ limits, clock, kernel });
      return { clock, set };
    };

    test('keeps its instants exact through any number of slow downs and raises', () => {
      const { clock, set } = make([
        { rate: 100, burst: 10 },
        { rate: 100, burst: 10 },
      ]);
      for (let cycle = 0; cycle < 60; cycle++) {
        set.consumeOrDrain(10);
        const reservation = set.reserve(10);
        // A stretch by 100.
        set.reconfigure({ limits: [{ rate: 1 }, { rate: 1 }] });
        expect(reservation?.dueUs).toBeCloseTo(clock.now() + 10e6, 0);
        clock.advance(10_000);
        expect(reservation?.dueUs).toBeLessThanOrEqual(clock.now());
        // Nothing is promised: the next cycle begins anew.
        set.reconfigure({ limits: [{ rate: 100 }, { rate: 100 }] });
        clock.advance(100);
        expect(set.consumeOrDrain(20)).toBe(10);
      }
    });

    test('becomes limited again: what is promised waits for that limit, and no burst is added', () => {
      const { clock, set } = make([
        { rate: 10, burst: 10 },
        { rate: 10, burst: 10 },
      ]);
      set.consumeOrDrain(10);
      const promised = [set.reserve(10), set.reserve(10)];
      set.reconfigure({ limits: [{ rate: Number.POSITIVE_INFINITY }, {}] });
      clock.advance(500);
      set.reconfigure({ limits: [{ rate: 5 }, {}] });
      // At 5/s, and at most the 25 tokens that the other limit may have promised.
      expect(promised.map((one) => one?.dueUs)).toEqual([3_500_000, 5_500_000]);
      clock.advance(5000);
      expect(set.consumeOrDrain(10)).toBe(0);
      clock.advance(1000);
      expect(set.consumeOrDrain(10)).toBe(5);
    });

    test('is paused while a limit is unlimited: callers keep their places until a rate returns', () => {
      const { clock, set } = make([
        { rate: Number.POSITIVE_INFINITY, burst: 10 },
        { rate: 10, burst: 10 },
      ]);
      set.consumeOrDrain(10);
      const promised = [set.reserve(4), set.reserve(6)];
      const due = () => promised.map((one) => one?.dueUs);
      expect(due()).toEqual([400_000, 1_000_000]);
      set.reconfigure({ limits: [{ rate: 0 }, {}] });
      expect(due()).toEqual([Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY]);
      expect(set.tryConsume()).toBe(false);
      clock.advance(1000);
      set.reconfigure({ limits: [{ rate: 10 }, {}] });
      // At most the 20 tokens that the other limit may have promised.
      expect(due()).toEqual([2_400_000, 3_000_000]);
      clock.advance(2000);
      expect(set.consumeOrDrain(10)).toBe(0);
      clock.advance(500);
      expect(set.consumeOrDrain(10)).toBe(5);
    });

    test('stops at a pause where the last call took tokens, though the first waiter read an earlier time', () => {
      const { clock, set } = make([
        { rate: 1000, burst: 5000 },
        { rate: 1e5, burst: 1000 },
      ]);
      set.consumeOrDrain(1000);
      set.reconfigure({ limits: [{ rate: 0 }, {}] });
      clock.set(10);
      expect(set.consumeOrDrain(1000)).toBe(1000);
      clock.set(0);
      const reservation = set.reserve(1);
      clock.set(10);
      set.reconfigure({ limits: [{ rate: 1000 }, { rate: 1 }] });
      expect([reservation?.dueUs, set.reserve(1)?.dueUs]).toEqual([1_010_000, 2_010_000]);
    });

    test('is paused while no limit has a rate: callers are served at the rate that returns', () => {
      const { clock, set } = make([
        { rate: Number.POSITIVE_INFINITY, burst: 10 },
        { rate: Number.POSITIVE_INFINITY, burst: 20 },
      ]);
      set.reconfigure({ limits: [{ rate: 0 }, {}] });
      expect(set.consumeOrDrain(99)).toBe(10);
      const promised = [set.reserve(4), set.reserve(6)];
      clock.advance(1000);
      set.reconfigure({ limits: [{ rate: 10 }, {}] });
      expect(promised.map((one) => one?.dueUs)).toEqual([1_400_000, 2_000_000]);
      clock.advance(1000);
      expect(set.consumeOrDrain(10)).toBe(0);
    });

    test.each([
      { burst: 1, other: { rate: 9, burst: 20 }, ms: 4900 },
      { burst: 10, other: { rate: 100, burst: 100 }, ms: 6700 },
    ])('serves 40 waiters, however often it changes: $burst, $other', ({ burst, other, ms }) => {
      const { clock, set } = make([{ rate: 10, burst }, other]);
      set.consumeOrDrain(100);
      const waiting = Array.from({ length: 40 }, () => set.reserve(1));
      for (let change = 0; change < ms / 100; change++) {
        clock.advance(100);
        set.reconfigure({ limits: [{ rate: change % 2 === 0 ? 8 : 10 }, {}] });
      }
      expect(waiting.filter((one) => (one?.dueUs ?? Infinity) > clock.now())).toEqual([]);
    });
  },
);
