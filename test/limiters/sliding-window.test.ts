import { afterEach, describe, expect, it } from 'vitest';
import { ManualClock, SlidingWindow } from '../../src/index.ts';
import { KILLED, Preemption } from '../support/preemption.ts';

/** 1/16 microsecond, in milliseconds. */
const TICK_MS = 1 / 16_000;

describe('SlidingWindow', () => {
  it('makes the tokens of a slot available again when the slot leaves the window', () => {
    const clock = ManualClock.create();
    const window = SlidingWindow.create({ limit: 3, intervalMs: 100, slots: 4, clock });
    const steps: [atMs: number, n: number, admitted: boolean, left: number][] = [
      [0, 1, true, 2],
      [30, 1, true, 1],
      [80, 1, true, 0],
      [99, 1, false, 0],
      [100 - TICK_MS, 1, false, 0],
      // The slot from 0 to 25 ms has left, with its one token.
      [100, 2, false, 1],
      [100, 1, true, 0],
      // The slot from 25 to 50 ms has left.
      [125, 1, true, 0],
      // After a step back, the current slot continues.
      [60, 1, false, 0],
      [0, 1, false, 0],
      [150, 1, false, 0],
      // Of 80, 100 and 125 ms, the first two have left; a long idle time empties the window.
      [200, 2, true, 0],
      [10_000, 3, true, 0],
      [10_000, 4, false, 0],
    ];
    const seen = steps.map(([atMs, n]) => {
      clock.set(atMs);
      const admitted = window.tryConsume(n);
      return [atMs, n, admitted, window.available()];
    });
    expect(seen).toEqual(steps);
  });

  it('reports when enough of the oldest slots will have left', () => {
    const clock = ManualClock.create();
    const window = SlidingWindow.create({ limit: 4, intervalMs: 100, slots: 4, clock });
    for (const atMs of [0, 30, 55, 80]) {
      clock.set(atMs);
      window.tryConsume();
    }
    const retries = [1, 2, 3, 4, 5].map((n) => window.decide(n).retryAfterMs);
    expect(retries).toEqual([20, 45, 70, 95, Number.POSITIVE_INFINITY]);
    expect(window.decide().resetMs).toBe(95);
  });

  it('admits a steady overload at the limit, because refused calls do not count', () => {
    const clock = ManualClock.create();
    const window = SlidingWindow.create({ limit: 10, intervalMs: 1_000, slots: 10, clock });
    let admitted = 0;
    // Ten times as much as the limit, for a hundred intervals.
    for (let ms = 0; ms < 100_000; ms += 10) {
      clock.set(ms);
      if (window.tryConsume()) admitted++;
    }
    expect(admitted).toBe(1_000);
  });

  it('has 10 slots by default, and reports its limit', () => {
    const window = SlidingWindow.create({ limit: 10, intervalMs: 1_000 });
    expect(window).toMatchObject({ limit: 10, intervalMs: 1_000, slots: 10 });
  });

  it('works for 17 years', () => {
    for (const limit of [1, 1_000_000, 2 ** 30 - 1]) {
      const clock = ManualClock.create();
      const window = SlidingWindow.create({ limit, intervalMs: 10_000, slots: 10, clock });
      for (let year = 1; year <= 17; year++) {
        clock.set(year * 365.25 * 86_400_000);
        expect(window.tryConsume(limit)).toBe(true);
        clock.advance(8_990);
        expect(window.tryConsume()).toBe(false);
        clock.advance(1_010);
        expect(window.available()).toBe(limit);
      }
    }
  });
});

describe('a slot that a thread sealed before it died', () => {
  let preemption: Preemption | undefined;
  afterEach(() => {
    preemption?.restore();
  });

  it('is not reopened, and keeps its count, if the clock then steps back', () => {
    preemption = new Preemption();
    let deaths = 0;
    for (let at = 1; at < 20; at++) {
      const clock = ManualClock.create();
      const window = SlidingWindow.create({ limit: 3, intervalMs: 100, slots: 4, clock });
      const dying = preemption.check(SlidingWindow.attach(structuredClone(window.handle)));
      window.tryConsume(2);
      clock.set(25);
      const end = preemption.call(
        () => dying.available(),
        at,
        () => undefined,
        true,
      );
      if (end === KILLED) deaths++;
      clock.set(0);
      expect(window.available()).toBe(1);
      const slotNow = Number(window.decide(3).retryAfterMs);
      // Slot 0 leaves at 100 ms, no matter when the next one was opened.
      expect(slotNow).toBe(100);
      clock.set(25);
      expect(window.tryConsume()).toBe(true);
      clock.set(100);
      expect(window.available()).toBe(2);
      clock.set(125);
      expect(window.available()).toBe(3);
    }
    expect(deaths).toBeGreaterThan(4);
  });
});
