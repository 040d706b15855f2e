import { describe, expect, it } from 'vitest';
import { attach, HandleError, ManualClock, Region, TokenBucket } from '../../src/index.ts';
import { CELL, WINDOW, WINDOW_RECORD } from '../../src/memory/layout.ts';
import { part } from '../support/random.ts';
import { WINDOW_KERNELS } from '../support/window-kinds.ts';

describe.each(WINDOW_KERNELS)(
  '$kind, with kernel $kernel',
  ({ kind, create, attach: attachTo }) => {
    const options = { limit: 3, intervalMs: 100, slots: 4 };

    it('starts empty in memory that held something else', () => {
      const buffer = new SharedArrayBuffer(65_536);
      new BigInt64Array(buffer).fill(0x55aa55aa55aa55aan);
      const clock = ManualClock.create();
      const limiter = create({ ...options, clock, region: Region.create({ buffer }) });
      expect(limiter.consumeOrDrain(10)).toBe(3);
      expect(limiter.tryConsume()).toBe(false);
    });

    it.each([
      ['limit', WINDOW_RECORD.limit, [-1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 31]],
      ['intervalMs', WINDOW_RECORD.intervalMs, [0, -1, Number.NaN, Number.POSITIVE_INFINITY]],
      ['origin', WINDOW_RECORD.originTicks, [0.5, Number.NaN, Number.POSITIVE_INFINITY]],
      ['first slot', WINDOW_RECORD.firstSlot, [0.5, Number.NaN]],
      ['shift', WINDOW_RECORD.shift, [0.5, Number.NaN]],
    ] as const)('cannot be attached if its %s is invalid', (_, field, values) => {
      for (const value of values) {
        const region = Region.create();
        const { handle } = create({ ...options, region });
        region.f64[(handle.offset + WINDOW.records + field) / 8] = value;
        expect(() => attachTo(handle)).toThrow(HandleError);
        expect(() => attach(handle)).toThrow(HandleError);
      }
    });

    it.each([
      ['slots', WINDOW.slots, [0, -1, 5000]],
      ['maxLimit', WINDOW.maxLimit, [0, -1, 2, -(2 ** 31)]],
      ['allowDoubleBurst', WINDOW.allowDoubleBurst, [-1, 2]],
      ['epoch', WINDOW.records + WINDOW_RECORD.epoch, [0]],
      ['count bits', WINDOW.records + WINDOW_RECORD.bits, [-1, 0, 1, 31, 64]],
    ] as const)('cannot be attached if its %s is out of range', (_, field, values) => {
      for (const value of values) {
        const region = Region.create();
        const { handle } = create({ ...options, region });
        region.i32[(handle.offset + field) / 4] = value;
        // Its own limit is far above 2.
        if (kind === 'fixed-window' && value === 2 && field === WINDOW.maxLimit) continue;
        expect(() => attachTo(handle)).toThrow(HandleError);
        expect(() => attach(handle)).toThrow(HandleError);
      }
    });

    it('cannot be attached if it would reach past the end of its region', () => {
      const region = Region.create();
      const { handle } = create({ ...options, region });
      const field = kind === 'sliding-window' ? WINDOW.slots : WINDOW.maxLimit;
      region.i32[(handle.offset + field) / 4] = kind === 'sliding-window' ? 4096 : 2 ** 24;
      // A fixed window has no ring.
      if (kind === 'fixed-window') expect(attachTo(handle).limit).toBe(3);
      else if (kind === 'sliding-log') expect(() => attachTo(handle)).toThrow(/no sliding-log is/);
      else expect(() => attachTo(handle)).toThrow(HandleError);
    });

    it('neither hangs nor crashes on any word, nor writes outside its cell', () => {
      const clock = ManualClock.create();
      const region = Region.create();
      const before = TokenBucket.create({ rate: 1, burst: 5, region, clock });
      // A ring of 8 fills its line; the next bytes are another limiter's.
      const limiter = create({ ...options, limit: 8, region, clock });
      const after = TokenBucket.create({ rate: 1, burst: 5, region, clock });
      const at = (limiter.handle.offset + CELL.word) / 8;
      const ring = (limiter.handle.offset + WINDOW.ring) / 8;
      let seed = 1n;
      for (let i = 0; i < part(5_000, 1_000); i++) {
        seed = BigInt.asUintN(64, seed * 6364136223846793005n + 1442695040888963407n);
        // Random bits, few bits or nearly all.
        const shifted = seed >> BigInt(i % 64);
        region.i64[at] = BigInt.asIntN(64, i % 3 === 0 ? ~shifted : shifted);
        if (kind !== 'fixed-window') region.i64[ring + (i % 3)] = BigInt.asIntN(64, seed << 7n);
        const thread = () => {
          // Instances attached before the damage detect it later.
          if (i % 2 === 0) limiter.tryConsume();
          const attached = attachTo(limiter.handle);
          attached.tryConsume(1 + (i % 3));
          attached.decide(2);
          attached.consumeOrDrain(3);
          limiter.available();
        };
        clock.advance(i % 5 === 0 ? 50 : 0.01);
        try {
          thread();
        } catch (error) {
          expect(error).toMatchObject({ name: 'HandleError', code: 'ERR_REGION_DAMAGED' });
        }
      }
      expect([before.balance(), after.balance()]).toEqual([5, 5]);
    });
  },
);
