import { afterEach, describe, expect, it, vi } from 'vitest';
import {
  allOf,
  FixedWindow,
  type Limiter,
  ManualClock,
  SlidingLog,
  SlidingWindow,
  TokenBucket,
} from '../../src/index.ts';
import { KeyedTokenBucket } from '../../src/keyed.ts';

// The test controls the time, and wakes the blocked thread on time or early.

/** Actions of the next sleeps on a clock; later sleeps last their full time. */
function sleepsOn(clock: ManualClock, ...early: (() => void)[]) {
  return vi.spyOn(clock, 'sleepSync').mockImplementation((untilUs) => {
    const wake = early.shift();
    if (wake === undefined) clock.set(untilUs / 1000);
    else wake();
  });
}

afterEach(() => vi.restoreAllMocks());

/** Takes all tokens of a limiter. */
function emptied(limiter: Limiter): Limiter {
  limiter.tryConsume(limiter.limit);
  return limiter;
}

const WINDOW = { limit: 2, intervalMs: 200 };
/** Each has room for 2 after 200 ms. */
const EMPTIED: Readonly<Record<string, (clock: ManualClock) => Limiter>> = {
  TokenBucket: (clock) => TokenBucket.create({ rate: 10, burst: 5, initial: 0, clock }),
  KeyedTokenBucket: (clock) =>
    emptied(KeyedTokenBucket.create({ rate: 10, burst: 5, capacity: 4, clock }).for('key')),
  FixedWindow: (clock) => emptied(FixedWindow.create({ ...WINDOW, clock })),
  SlidingWindow: (clock) => emptied(SlidingWindow.create({ ...WINDOW, clock })),
  SlidingLog: (clock) => emptied(SlidingLog.create({ ...WINDOW, clock })),
  allOf: (clock) => allOf(TokenBucket.create({ rate: 10, burst: 5, initial: 0, clock })),
};

describe.each(Object.entries(EMPTIED))('a blocking wait on %s', (_, make) => {
  it('ends when the tokens are available, and not before', () => {
    const clock = ManualClock.create();
    const limiter = make(clock);
    const untilMs = limiter.timeUntil(2);
    const sleep = sleepsOn(clock);
    expect(limiter.waitSync(2)).toBe(true);
    expect(clock.nowMs).toBe(untilMs);
    expect(sleep).toHaveBeenCalledExactlyOnceWith(
      untilMs * 1000,
      expect.objectContaining({ strict: false }),
    );
    expect(limiter.tryConsume(2)).toBe(false);
  });

  it('is strict if requested', () => {
    const clock = ManualClock.create();
    const limiter = make(clock);
    const sleep = sleepsOn(clock);
    expect(limiter.waitSync(2, { strict: true })).toBe(true);
    expect(sleep.mock.lastCall?.[1]).toMatchObject({ strict: true });
  });

  it('lasts at most as long as its timeout', () => {
    const clock = ManualClock.create();
    const limiter = make(clock);
    const timeoutMs = limiter.timeUntil(2);
    const sleep = sleepsOn(clock);
    expect(limiter.waitSync(2, { timeoutMs: timeoutMs - 0.01 })).toBe(false);
    expect(sleep).not.toHaveBeenCalled();
    expect(limiter.waitSync(2, { timeoutMs })).toBe(true);
  });

  it('does not sleep for available tokens', () => {
    const clock = ManualClock.create();
    const limiter = make(clock);
    clock.advance(limiter.timeUntil(2));
    const sleep = sleepsOn(clock);
    expect(limiter.waitSync(2)).toBe(true);
    expect(limiter.waitSync(0)).toBe(true);
    expect(sleep).not.toHaveBeenCalled();
  });
});

describe('a blocking wait on a bucket', () => {
  const emptied = (clock: ManualClock) =>
    TokenBucket.create({ rate: 10, burst: 5, initial: 0, clock });

  it('that is woken early goes back to sleep until its instant', () => {
    const clock = ManualClock.create();
    const bucket = emptied(clock);
    const sleep = sleepsOn(clock, () => clock.set(50));
    expect(bucket.waitSync(2)).toBe(true);
    expect(clock.nowMs).toBe(200);
    expect(sleep).toHaveBeenCalledTimes(2);
  });

  it('ends at its new instant when the limit changes, even at the end of its timeout', () => {
    const clock = ManualClock.create();
    const bucket = emptied(clock);
    sleepsOn(clock, () => bucket.reconfigure({ rate: 2 }));
    expect(bucket.waitSync(2, { timeoutMs: 1000 })).toBe(true);
    expect(clock.nowMs).toBe(1000);
  });
});
