import { afterEach, describe, expect, it } from 'vitest';
import { FixedWindow, ManualClock, Region } from '../../src/index.ts';
import { Preemption } from '../support/preemption.ts';
import { TwoStepWindow } from '../support/two-step-window.ts';
import { Gate, nextMessage, startThread } from '../support/window-threads.ts';
import type { OpenerData } from '../workers/window-opener.ts';

const LIMIT = 5;
const INTERVAL_MS = 100;

function admittedOf(calls: number, limiter: { tryConsume(): boolean }): number {
  let admitted = 0;
  for (let i = 0; i < calls; i++) if (limiter.tryConsume()) admitted++;
  return admitted;
}

/** Tokens of a window, and a way to give them back. */
function taken(window: FixedWindow, n: number) {
  if (!window.takeAt(0, n)) return undefined;
  const receipt = window.receipt();
  return { cancel: () => window.giveBack(n, receipt) };
}

/**
 * Holds a thread while it opens a window, until another window has been opened and filled. Returns
 * what that window admits before and after the thread continues.
 */
async function windowWithLateOpener(
  limiter: { tryConsume(): boolean },
  clock: ManualClock,
  opener: Omit<OpenerData, 'gate'>,
): Promise<{ before: number; after: number; opener: boolean }> {
  expect(admittedOf(LIMIT + 1, limiter)).toBe(LIMIT);
  clock.advance(INTERVAL_MS);
  const gate = new Gate();
  const thread = startThread('window-opener', { ...opener, gate: gate.buffer });
  expect(await nextMessage(thread)).toBe('held');
  clock.advance(INTERVAL_MS / 2);
  admittedOf(LIMIT, limiter);
  clock.advance(INTERVAL_MS);
  const before = admittedOf(3 * LIMIT, limiter);
  const allowed = nextMessage<boolean>(thread);
  gate.open();
  const opened = await allowed;
  return { before, after: admittedOf(3 * LIMIT, limiter), opener: opened };
}

describe('a thread that is held while it opens a window, for more than an interval', () => {
  it('wipes the count of a later window if start and count are two words', async () => {
    const clock = ManualClock.create();
    const window = TwoStepWindow.create(LIMIT, INTERVAL_MS, clock);
    const seen = await windowWithLateOpener(window, clock, {
      at: 'between the steps',
      handle: window.handle,
    });
    // 9 of a limit of 5 in one window, at one instant.
    expect(seen).toEqual({ before: LIMIT, after: LIMIT - 1, opener: true });
  });

  it.each([
    { at: 'before the exchange', opener: false },
    { at: 'after the exchange', opener: true },
  ] as const)('wipes nothing in a FixedWindow: held $at', async ({ at, opener }) => {
    const clock = ManualClock.create();
    const window = FixedWindow.create({ limit: LIMIT, intervalMs: INTERVAL_MS, clock });
    const seen = await windowWithLateOpener(window, clock, { at, handle: window.handle });
    expect(seen).toEqual({ before: LIMIT, after: 0, opener });
  });
});

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

describe('tokens returned while another thread opens the next window', () => {
  let preemption: Preemption | undefined;
  afterEach(() => {
    preemption?.restore();
  });

  it('are not taken again in the old window once the new one has begun', () => {
    preemption = new Preemption();
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
          if (grant?.cancel() && window.tryConsume()) again++;
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
    expect(taken(window, 2)?.cancel()).toBe(true);
    expect(window.available()).toBe(2);
    const grant = taken(window, 1);
    expect(window.tryConsume(2)).toBe(false);
    expect(window.consumeOrDrain(2)).toBe(1);
    // Another call depends on it.
    expect(grant?.cancel()).toBe(false);
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
