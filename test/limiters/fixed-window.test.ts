import { describe, expect, it } from 'vitest';
import { FixedWindow, ManualClock, Region } from '../../src/index.ts';
import { admittedOf } from '../support/admitted.ts';

describe('FixedWindow', () => {
  it('admits the limit, refuses, and opens the next window an interval after the last opened', () => {
    const clock = ManualClock.create();
    const window = FixedWindow.create({ limit: 2, intervalMs: 100, clock });
    const steps: [atMs: number, n: number, admitted: boolean][] = [
      [0, 1, true],
      [10, 1, true],
      [10, 1, false],
      [99.9999375, 1, false],
      [100, 1, true],
      // The next window is counted from the call that opened it.
      [250, 2, true],
      [349, 1, false],
      [350, 2, true],
      [350, 1, false],
      // After a step back, the window is not over yet.
      [0, 1, false],
      [450, 1, true],
    ];
    const seen = steps.map(([atMs, n]) => {
      clock.set(atMs);
      return window.tryConsume(n);
    });
    expect(seen).toEqual(steps.map(([, , admitted]) => admitted));
  });

  it('reads no clock while the count is under the limit, with allowDoubleBurst', () => {
    const clock = ManualClock.create();
    const options = { limit: 3, intervalMs: 100, allowDoubleBurst: true, clock };
    const window = FixedWindow.attach(FixedWindow.create(options).handle);
    let readings = 0;
    const now = window.clock.now.bind(window.clock);
    window.clock.now = () => {
      readings++;
      return now();
    };
    expect(admittedOf(3, window)).toBe(3);
    expect(readings).toBe(0);
    expect(window.tryConsume()).toBe(false);
    expect(readings).toBe(1);
  });

  it('admits its limit, not twice, at one instant after an idle hour', () => {
    const admittedLate = (allowDoubleBurst: boolean) => {
      const clock = ManualClock.create();
      const options = { limit: 100, intervalMs: 1_000, clock, allowDoubleBurst };
      const window = FixedWindow.create(options);
      const thread = FixedWindow.attach(structuredClone(window.handle));
      expect(window.tryConsume()).toBe(true);
      clock.advance(3_600_000);
      expect(thread.available()).toBe(100);
      return admittedOf(300, window) + admittedOf(300, thread);
    };
    expect(admittedLate(false)).toBe(100);
    expect(admittedLate(true)).toBe(199);
  });

  it('opens a window for a call after the end of the last, not for a clock that is behind', () => {
    const clock = ManualClock.create({ nowMs: 1_000 });
    const window = FixedWindow.create({ limit: 3, intervalMs: 100, clock });
    expect(window.tryConsume(2)).toBe(true);
    // Not with the end of the interval: the window opens with this call.
    clock.set(1_150);
    expect(window.tryConsume(2)).toBe(true);
    clock.set(1_249);
    expect(window.available()).toBe(1);
    for (const staleMs of [1_149, 1_000, 0]) {
      clock.set(staleMs);
      expect(window.available()).toBe(1);
      expect(window.tryConsume(2)).toBe(false);
    }
    expect(window.tryConsume()).toBe(true);
    clock.set(1_250);
    expect(window.tryConsume(3)).toBe(true);
  });

  it('writes nothing when it refuses', () => {
    const clock = ManualClock.create();
    const region = Region.create();
    const window = FixedWindow.create({ limit: 3, intervalMs: 100, clock, region });
    window.tryConsume(2);
    const { offset } = window.handle;
    const bytes = () => Buffer.from(region.buffer, offset, 576).toString('hex');
    const before = bytes();
    for (const n of [2, 3, 4, 1e9]) expect(window.tryConsume(n)).toBe(false);
    expect(window.decide(2).allowed).toBe(false);
    expect(bytes()).toBe(before);
  });

  it.each([1, 2, 1_023, 2_047, 2_048, 1_000_000, 2 ** 30 - 1])(
    'never has a window shorter than the interval, at limit %i',
    (limit) => {
      const clock = ManualClock.create({ nowMs: 0.777 });
      const intervalMs = 1_000;
      const window = FixedWindow.create({ limit, intervalMs, clock });
      let openedMs = clock.nowMs;
      for (let i = 0; i < 50; i++) {
        // Fills the window, whenever it began.
        window.tryConsume(limit);
        const { retryAfterMs } = window.decide(limit);
        clock.advance(retryAfterMs - 0.001);
        expect(window.tryConsume(limit)).toBe(false);
        // Now and then a little late, so that windows begin anywhere between two units of the word.
        clock.advance(0.001 + (i % 3 === 0 ? 0.0283 : 0));
        expect(window.tryConsume(limit)).toBe(true);
        if (i > 0) expect(clock.nowMs - openedMs).toBeGreaterThanOrEqual(intervalMs - 1e-4);
        openedMs = clock.nowMs;
      }
    },
  );

  it('works for 17 years', () => {
    const clock = ManualClock.create();
    for (const limit of [1, 2_047, 1_000_000, 2 ** 30 - 1]) {
      clock.set(0);
      const window = FixedWindow.create({ limit, intervalMs: 1_000, clock });
      window.tryConsume(limit);
      for (let year = 1; year <= 17; year++) {
        clock.set(year * 365.25 * 86_400_000);
        expect(window.tryConsume(limit)).toBe(true);
        clock.advance(999);
        expect(window.tryConsume(limit)).toBe(false);
        // The word counts 525 ms at the largest limit.
        clock.advance(1 + 2 * 525);
        expect(window.available()).toBe(limit);
      }
    }
  });
});
