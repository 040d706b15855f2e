import { describe, expect, it } from 'vitest';
import { FixedWindow, ManualClock, Region, SlidingLog, SlidingWindow } from '../../src/index.ts';
import { WINDOW } from '../../src/memory/layout.ts';
import { eachPreempted, KILLED } from '../support/preemption.ts';

describe('FixedWindow', () => {
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
    for (let i = 0; i < 3; i++) expect(window.tryConsume()).toBe(true);
    expect(readings).toBe(0);
    expect(window.tryConsume()).toBe(false);
    expect(readings).toBe(1);
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

/** 1/16 microsecond, in milliseconds. */
const TICK_MS = 1 / 16_000;

describe('SlidingWindow', () => {
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
  const preemption = eachPreempted();

  it('is not reopened, and keeps its count, if the clock then steps back', () => {
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

describe('SlidingLog', () => {
  it('admits its limit when new, even if the clock then steps back two years', () => {
    const clock = ManualClock.create({ nowMs: 0 });
    const log = SlidingLog.create({ limit: 2, intervalMs: 1e11, clock });
    clock.set(-2 * 365.25 * 86_400_000);
    expect(log.consumeOrDrain(3)).toBe(2);
    clock.set(0);
    expect(log.available()).toBe(0);
  });

  it('takes 576 bytes plus 8 per unit of the limit', () => {
    const region = Region.create({ bytes: 1_000_000 });
    const before = region.bytesFree;
    SlidingLog.create({ limit: 10_000, intervalMs: 1, region });
    expect(before - region.bytesFree).toBe(80_000 + 576);
  });

  it('works for 12 years, at one admission per interval', () => {
    for (const limit of [1, 2, 1_000]) {
      const clock = ManualClock.create();
      const log = SlidingLog.create({ limit, intervalMs: 1_000, clock });
      for (let year = 1; year <= 12; year++) {
        clock.set(year * 365.25 * 86_400_000);
        expect(log.tryConsume(limit)).toBe(true);
        clock.advance(1_000 - TICK_MS * 2);
        expect(log.tryConsume()).toBe(false);
        clock.advance(TICK_MS * 2);
        expect(log.available()).toBe(limit);
      }
    }
  });

  it('continues after the low bits of its lap overflow', () => {
    const clock = ManualClock.create();
    const region = Region.create();
    const log = SlidingLog.create({ limit: 1_000, intervalMs: 1, clock, region });
    // The last entry of the last lap that 22 bits count, which is odd, so the lap before left the
    // mark 1 there.
    const word = log.handle.offset / 8;
    const highest = (0x3fffffn << 10n) | 999n;
    region.i64[word] = BigInt.asIntN(64, highest << 32n);
    region.i64[(log.handle.offset + WINDOW.ring) / 8 + 999] = 1n;
    for (let lap = 0; lap < 3; lap++) {
      for (let i = 0; i < 1_000; i++) expect(log.tryConsume()).toBe(true);
      expect(log.tryConsume()).toBe(false);
      clock.advance(1);
    }
    // Lap 2^22 + 2, index 999, one pending.
    expect(region.i64[word]).toBe((((2n << 10n) | 999n) << 32n) | (1n << 13n) | (1n << 3n));
  });

  it('never dates an entry that another thread completes before the reading that admitted it', () => {
    const clock = ManualClock.create();
    const region = Region.create();
    const log = SlidingLog.create({ limit: 1, intervalMs: 100, clock, region });
    const helper = SlidingLog.attach(structuredClone(log.handle));
    const now = helper.clock.now.bind(helper.clock);
    let readings = 0;
    helper.clock.now = () => {
      const nowUs = now();
      readings++;
      if (readings === 1) {
        // While the helper is stalled, a thread takes the only entry, 50 ms later, and dies:
        // it has advanced the head by one, with one entry pending.
        clock.advance(50);
        const head = region.i64[log.handle.offset / 8] as bigint;
        expect(head).toBe(0n);
        // Index 0 of lap 1, because the ring has one entry: C is 1 bit, so the lap counts from bit
        // 33.
        region.i64[log.handle.offset / 8] = (1n << 33n) | (1n << 3n);
      }
      return nowUs;
    };
    expect(helper.tryConsume()).toBe(false);
    clock.set(150 - TICK_MS);
    expect(helper.tryConsume()).toBe(false);
    clock.set(150);
    expect(helper.tryConsume()).toBe(true);
  });
});

describe('a clock that steps back while a thread that took tokens is stalled', () => {
  const preemption = eachPreempted();

  it('keeps anyone from dating the entries too early', () => {
    for (const { limit, first, stalled, after, backMs, atMs } of [
      // The entry of an admission at 0 ms, taken again at 100 ms.
      { limit: 1, first: 1, stalled: 1, after: 1, backMs: 0, atMs: 100 },
      // Two entries after that of an admission at 100 ms.
      { limit: 3, first: 0, stalled: 2, after: 3, backMs: 50, atMs: 150 },
    ]) {
      for (let at = 1; at < 25; at++) {
        const clock = ManualClock.create();
        const log = preemption.check(SlidingLog.create({ limit, intervalMs: 100, clock }));
        const other = SlidingLog.attach(structuredClone(log.handle));
        log.tryConsume(first);
        clock.set(100);
        if (first === 0) log.tryConsume();
        let also = false;
        const taken = preemption.call(
          () => log.tryConsume(stalled),
          at,
          () => {
            clock.set(backMs);
            other.available();
            clock.set(atMs);
            also = other.tryConsume(after);
          },
        );
        if (first === 0) expect(also).toBe(false);
        else expect(taken !== also).toBe(true);
      }
    }
  });
});
