import { describe, expect, it, vi } from 'vitest';
import {
  FixedWindow,
  ManualClock,
  Region,
  SlidingLog,
  SlidingWindow,
  systemClock,
} from '../../src/index.ts';
import { WINDOW } from '../../src/memory/layout.ts';
import { claimRecords } from '../support/cell.ts';
import { settled } from '../support/settled.ts';
import { WINDOW_KERNELS, WINDOW_KINDS } from '../support/window-kinds.ts';

const OPTIONS = { limit: 4, intervalMs: 100, slots: 4, maxLimit: 20 };

describe.each(WINDOW_KERNELS)(
  '$kind, allowDoubleBurst $allowDoubleBurst, with kernel $kernel',
  ({ kind, create, attach, allowDoubleBurst }) => {
    it('starts with a part of its limit at most', () => {
      for (const initial of [-1, 5, 0.5, Number.NaN]) {
        expect(() => create({ ...OPTIONS, initial })).toThrow(
          /^initial must be an integer at least 0 and at most 4, got/,
        );
      }
      expect(() => create({ ...OPTIONS, initial: '1' as never })).toThrow(TypeError);
    });

    it('keeps those who wait in place at a limit of 0, until a limit returns', async () => {
      const clock = ManualClock.create();
      const limiter = create({ ...OPTIONS, clock });
      const other = attach(structuredClone(limiter.handle));
      other.reconfigure({ limit: 0 });
      let served = 0;
      const waits = [1, 2, 1].map((n) => limiter.wait(n).then(() => (served += n)));
      clock.advance(1e6);
      await settled();
      expect([served, clock.nextMs()]).toEqual([0, Number.POSITIVE_INFINITY]);
      await expect(limiter.wait(1, { timeoutMs: 1e9 })).rejects.toThrow(/timeoutMs/);
      expect(limiter.waitSync(1, { timeoutMs: 1e9 })).toBe(false);
      expect(limiter.timeUntil(1)).toBe(Number.POSITIVE_INFINITY);
      other.reconfigure({ limit: 4 });
      await Promise.all(waits);
      expect(served).toBe(4);
      expect(limiter.tryConsume()).toBe(allowDoubleBurst === true);
    });

    it('tells those who wait of a change: of the end, and of a limit that they exceed', async () => {
      const clock = ManualClock.create();
      const limiter = create({ ...OPTIONS, intervalMs: 1e6, clock });
      limiter.tryConsume(4);
      const large = expect(limiter.wait(3)).rejects.toThrow(
        expect.objectContaining({ code: 'ERR_EXCEEDS_BURST' }),
      );
      const late = expect(limiter.wait(1, { timeoutMs: 2e6 })).rejects.toThrow(
        expect.objectContaining({ code: 'ERR_RATE_LIMIT_TIMEOUT' }),
      );
      const wait = limiter.wait(2);
      limiter.reconfigure({ limit: 2 });
      await large;
      limiter.reconfigure({ intervalMs: 1e9 });
      await late;
      limiter.reconfigure({ limit: 6, intervalMs: 1e9 });
      await wait;
      expect(limiter.available()).toBe(0);
    });

    it('takes over the records that terminated threads have claimed', () => {
      const region = Region.create();
      const limiter = create({ ...OPTIONS, region });
      claimRecords(region.buffer, limiter.handle.offset + WINDOW.claims, 254);
      const wait = vi.spyOn(Atomics, 'wait').mockReturnValue('timed-out');
      limiter.reconfigure({ limit: 1 });
      expect(wait).toHaveBeenCalledTimes(100);
      wait.mockRestore();
      expect(limiter.limit).toBe(1);
      // The last one is the eighth.
      claimRecords(region.buffer, limiter.handle.offset + WINDOW.claims, 126);
      limiter.reconfigure({ limit: 2 });
      expect(limiter.limit).toBe(2);
      limiter.reconfigure({ limit: 3 });
      expect(limiter.limit).toBe(3);
    });

    it('throws for an invalid change, and changes nothing', () => {
      const limiter = create(OPTIONS);
      for (const change of [
        { limit: -1 },
        { limit: 1.5 },
        { limit: 2 ** 30 },
        { intervalMs: 0 },
        { limit: 3, intervalMs: 1e12 },
      ]) {
        expect(() => limiter.reconfigure(change)).toThrow(RangeError);
      }
      expect(() => limiter.reconfigure({ limit: '5' as never })).toThrow(TypeError);
      expect(() => limiter.reconfigure(null as never)).toThrow(/^change must be an object/);
      if (kind !== 'fixed-window') {
        expect(() => limiter.reconfigure({ limit: 21 })).toThrow(/at most 20, got 21$/);
      }
      expect([limiter.limit, limiter.intervalMs]).toEqual([4, 100]);
      limiter.reconfigure({});
      expect([limiter.limit, limiter.intervalMs]).toEqual([4, 100]);
    });
  },
);

describe('the bound of a change', () => {
  it('is the limit at creation, unless maxLimit is given', () => {
    for (const limiter of [
      SlidingWindow.create({ limit: 5, intervalMs: 100 }),
      SlidingLog.create({ limit: 5, intervalMs: 100 }),
    ]) {
      expect(limiter.maxLimit).toBe(5);
      expect(() => limiter.reconfigure({ limit: 6 })).toThrow(/at most 5, got 6$/);
    }
    expect(SlidingLog.create({ limit: 0, intervalMs: 100 }).maxLimit).toBe(1);
    for (const create of [SlidingWindow.create, SlidingLog.create]) {
      expect(() => create({ limit: 5, intervalMs: 1, maxLimit: 4 })).toThrow(/at most 4, got 5$/);
      expect(() => create({ limit: 5, intervalMs: 1, maxLimit: 1e10 })).toThrow(/^maxLimit must/);
      expect(() => create({ limit: 0, intervalMs: 1, maxLimit: 0 })).toThrow(/^maxLimit must/);
    }
  });

  it('of a fixed window is the largest limit of all, in units that the count leaves', () => {
    const clock = ManualClock.create();
    const window = FixedWindow.create({ limit: 3, intervalMs: 1_000, clock });
    window.tryConsume(3);
    window.reconfigure({ limit: 2 ** 30 - 1 });
    expect(window.available()).toBe(2 ** 30 - 4);
    window.reconfigure({ limit: 3 });
    clock.set(1_000);
    expect(window.available()).toBe(3);
  });
});

describe.each(['wasm', 'atomics'] as const)('a sliding window, with kernel %s,', (kernel) => {
  it('admits no more by changes at the end of its life', () => {
    const clock = ManualClock.create();
    const limit = 2 ** 30 - 1;
    // The shortest slots, so that their numbers fill the word.
    const options = { limit, intervalMs: 524.288 * 4, slots: 4, clock, kernel };
    const window = SlidingWindow.create(options);
    clock.set(60 * 365.25 * 86_400_000);
    expect(window.tryConsume(limit)).toBe(true);
    for (let i = 0; i < 20; i++) {
      try {
        window.reconfigure({ limit: limit - (i % 2), intervalMs: 2_098 + i });
      } catch (error) {
        expect(error).toMatchObject({ code: 'ERR_REGION_DAMAGED' });
      }
      expect(window.tryConsume()).toBe(false);
    }
  });
});

describe.each(WINDOW_KINDS)('waiting for a $kind', ({ create, attach }) => {
  /** Full at 0 ms, empty again at 100 ms. */
  function full(clock: ManualClock) {
    const limiter = create({ limit: 2, intervalMs: 100, slots: 4, clock });
    expect(limiter.tryConsume(2)).toBe(true);
    return limiter;
  }

  // docs/simulate.md: "Their callers sleep until"
  it('retries and sleeps again if another caller was faster', async () => {
    const clock = ManualClock.create();
    const limiter = full(clock);
    const other = attach(limiter.handle);
    let done = false;
    const wait = limiter.wait().then(() => {
      done = true;
    });
    clock.set(100);
    expect(other.tryConsume(2)).toBe(true);
    await settled();
    expect(done).toBe(false);
    clock.set(200);
    await wait;
  });

  it('fails as soon as the timeout is known to be exceeded, and not before', async () => {
    const clock = ManualClock.create();
    const limiter = full(clock);
    const wait = limiter.wait(1, { timeoutMs: 150 });
    const outcome = wait.catch((error: unknown) => error);
    clock.set(100);
    expect(attach(limiter.handle).tryConsume(2)).toBe(true);
    expect(await outcome).toMatchObject({ code: 'ERR_RATE_LIMIT_TIMEOUT' });
    expect(clock.nowMs).toBe(100);
  });

  it('blocks a thread until the tokens are available, on the system clock', () => {
    const beforeUs = systemClock.now();
    const limiter = create({ limit: 2, intervalMs: 20, slots: 4 });
    expect(limiter.tryConsume(2)).toBe(true);
    expect(limiter.waitSync(2, { strict: true })).toBe(true);
    expect(systemClock.now() - beforeUs).toBeGreaterThanOrEqual(20_000 - 1);
  });
});
