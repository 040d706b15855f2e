import { describe, expect, it } from 'vitest';
import { ManualClock } from '../../src/index.ts';
import { WINDOW_KERNELS } from '../support/window-kinds.ts';

const OPTIONS = { limit: 4, intervalMs: 100, slots: 4, maxLimit: 20 };

describe.each(WINDOW_KERNELS)(
  '$kind, allowDoubleBurst $allowDoubleBurst, with kernel $kernel',
  ({ kind, create, attach, allowDoubleBurst }) => {
    it('takes tokens back where that is exact', () => {
      const clock = ManualClock.create();
      const limiter = create({ ...OPTIONS, clock });
      const other = attach(structuredClone(limiter.handle));
      if (limiter.returnTokens === undefined) {
        expect(kind).toBe('sliding-log');
        return;
      }
      const back = (n: number) => limiter.returnTokens?.(n);
      limiter.tryConsume(2);
      other.tryConsume(2);
      if (allowDoubleBurst) {
        expect(back(2)).toBe(0);
        return;
      }
      // Only tokens that it took itself.
      expect(back(3)).toBe(2);
      expect(back(1)).toBe(0);
      expect(limiter.available()).toBe(2);
      limiter.tryConsume(2);
      clock.advance(24);
      expect(back(1)).toBe(1);
      // At the end of the slot, then of the window.
      clock.advance(1);
      if (kind === 'sliding-window') expect(back(1)).toBe(0);
      clock.set(100);
      expect(back(1)).toBe(0);
      other.tryConsume(4);
      expect(back(1)).toBe(0);
      expect(other.returnTokens?.(9)).toBe(4);
      // Cancelled tokens cannot be returned as well.
      other.take(3);
      expect(other.giveBack(3, other.receipt())).toBe(true);
      expect(other.returnTokens?.(3)).toBe(0);
      other.tryConsume(3);
      other.reconfigure({ limit: 5 });
      expect(other.returnTokens?.(3)).toBe(0);
      expect(() => back(-1)).toThrow(RangeError);
      expect(() => back(0.5)).toThrow(RangeError);
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
