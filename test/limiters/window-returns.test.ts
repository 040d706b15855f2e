import { describe, expect, it } from 'vitest';
import { FixedWindow, ManualClock } from '../../src/index.ts';
import { eachPreempted } from '../support/preemption.ts';
import { WINDOW_KERNELS } from '../support/window-kinds.ts';

const OPTIONS = { limit: 4, intervalMs: 100, slots: 4, maxLimit: 20 };

describe.each(WINDOW_KERNELS)(
  '$kind, allowDoubleBurst $allowDoubleBurst, with kernel $kernel',
  ({ kind, create, attach, allowDoubleBurst }) => {
    it('takes back no tokens that it gave back', () => {
      const clock = ManualClock.create();
      const limiter = create({ ...OPTIONS, clock });
      if (limiter.returnTokens === undefined) {
        expect(kind).toBe('sliding-log');
        return;
      }
      if (allowDoubleBurst) {
        limiter.tryConsume(2);
        expect(limiter.returnTokens(2)).toBe(0);
        return;
      }
      // Cancelled tokens cannot be returned as well.
      limiter.take(3);
      limiter.giveBack(3, limiter.receipt());
      expect(limiter.available()).toBe(4);
      expect(limiter.returnTokens(3)).toBe(0);
      for (const n of [-1, 0.5]) expect(() => limiter.returnTokens?.(n)).toThrow(RangeError);
    });

    it('wakes those who wait when tokens return', async () => {
      const clock = ManualClock.create();
      const limiter = create({ ...OPTIONS, clock });
      if (limiter.returnTokens === undefined || allowDoubleBurst) return;
      const other = attach(structuredClone(limiter.handle));
      limiter.tryConsume(4);
      const wait = other.wait(2);
      limiter.returnTokens(3);
      await wait;
      expect(limiter.available()).toBe(1);
    });
  },
);

/** Tokens of a window, and a way to give them back. */
function taken(window: FixedWindow, n: number) {
  if (!window.take(n)) return undefined;
  const receipt = window.receipt();
  return { cancel: () => window.giveBack(n, receipt) };
}

describe('tokens returned while another thread opens the next window', () => {
  const preemption = eachPreempted();

  it('are not taken again in the old window once the new one has begun', () => {
    for (let at = 2; at < 24; at++) {
      const clock = ManualClock.create();
      const options = { limit: 2, intervalMs: 100, clock, allowDoubleBurst: at % 2 === 0 };
      const window = FixedWindow.create(options);
      const opener = preemption.check(FixedWindow.attach(structuredClone(window.handle)));
      window.tryConsume();
      const grant = taken(window, 1);
      clock.set(100);
      let again = 0;
      const opened = preemption.call(
        () => opener.tryConsume(),
        at >> 1,
        () => {
          // If the return left no trace, the word would now equal the one that the opener loaded.
          grant?.cancel();
          if (window.tryConsume()) again++;
        },
      );
      expect(opened).toBe(true);
      // All of this happens at 100 ms: one window's worth.
      expect(1 + again + window.consumeOrDrain(2) + window.consumeOrDrain(2)).toBe(2);
    }
  });

  it('can be taken again while the window lasts', () => {
    const clock = ManualClock.create();
    const options = { limit: 3, intervalMs: 100, clock, allowDoubleBurst: true };
    const window = FixedWindow.create(options);
    window.tryConsume(1);
    taken(window, 2)?.cancel();
    expect(window.available()).toBe(2);
    const grant = taken(window, 1);
    expect(window.tryConsume(2)).toBe(false);
    expect(window.consumeOrDrain(2)).toBe(1);
    // Another call depends on it.
    grant?.cancel();
    expect(window.available()).toBe(0);
    clock.set(99);
    expect(window.tryConsume()).toBe(false);
    clock.set(100);
    expect(window.tryConsume(3)).toBe(true);
  });

  it('are none, for a grant of none', () => {
    const window = FixedWindow.create({ limit: 3, intervalMs: 100 });
    window.tryConsume(2);
    taken(window, 0)?.cancel();
    expect(window.available()).toBe(1);
  });
});
