import { describe, expect, test } from 'vitest';
import { LeakyBucket, ManualClock, TokenBucket } from '../../src/index.ts';
import { Rational } from '../support/rational.ts';

/** floor(burst + rate x t), without rounding. */
function allowed(rate: number, burst: number, us: number): number {
  const inflow = Rational.of(rate).times(Rational.of(us)).over(Rational.of(1e6));
  return Rational.of(burst).plus(inflow).floor().toNumber();
}

/** Requests one token per interval, in microseconds; returns the number admitted. */
function polled(bucket: TokenBucket, clock: ManualClock, everyUs: number, times: number): number {
  const startMs = clock.nowMs;
  let admitted = 0;
  for (let i = 1; i <= times; i++) {
    clock.set(startMs + (i * everyUs) / 1000);
    if (bucket.tryConsume()) admitted++;
  }
  return admitted;
}

// The behaviour of https://github.com/facebook/folly/blob/main/folly/TokenBucket.h without its bugs.
describe('unlike folly::TokenBucket', () => {
  test('burst 1 at 1,000,000/s admits 1,000,000/s, polled every microsecond', () => {
    const clock = ManualClock.create();
    const bucket = TokenBucket.create({ rate: 1e6, burst: 1, clock });
    expect(bucket.tryConsume()).toBe(true);
    expect(polled(bucket, clock, 1, 1_000_000)).toBe(1_000_000);
  });

  test('a clock that starts at 1705509033000000 us is as exact as one that starts at 0', () => {
    for (const nowMs of [0, 1705509033000]) {
      const clock = ManualClock.create({ nowMs });
      const bucket = TokenBucket.create({ rate: 1e6, burst: 10, clock });
      expect(bucket.consumeOrDrain(99)).toBe(10);
      expect(polled(bucket, clock, 0.5, 400_000)).toBe(200_000);
      expect(bucket.balance()).toBe(0);
    }
  });

  // https://github.com/facebook/folly/issues/2430
  test('a bucket of rate 0.0001 is full right after creation, however short the uptime', () => {
    for (const nowMs of [0, 0.001, 3_600_000]) {
      const clock = ManualClock.create({ nowMs });
      const bucket = TokenBucket.create({ rate: 0.0001, burst: 1, clock });
      expect(bucket.acquire(1)).toBe(0);
      expect(bucket.acquire(1)).toBe(10_000_000);
    }
  });

  test('a caller borrows ahead, and others wait until the debt is paid back', () => {
    const clock = ManualClock.create();
    const bucket = TokenBucket.create({ rate: 100, burst: 10, clock });
    expect(bucket.acquire(10)).toBe(0);
    expect(bucket.acquire(5)).toBe(50);
    expect(bucket.tryConsume()).toBe(false);
    expect(bucket.timeUntil(3)).toBe(80);
    clock.advance(60);
    expect(bucket.tryConsume()).toBe(true);
    expect(bucket.balance()).toBe(0);
  });

  test('a billion tokens in big steps over a month admit burst + rate x t, to the token', () => {
    const clock = ManualClock.create();
    const [rate, burst] = [1000 / 3, 1_000_000];
    const bucket = TokenBucket.create({ rate, burst, clock });
    let admitted = bucket.consumeOrDrain(burst);
    for (let step = 1; admitted < 1e9; step++) {
      // 2,997 seconds are 999,000 tokens: nothing is lost, and a fraction remains each time.
      clock.set(step * 2_997_001.234567);
      admitted += bucket.consumeOrDrain(burst);
      expect(admitted).toBe(allowed(rate, burst, clock.now()));
    }
    expect(clock.nowMs / 86_400_000).toBeGreaterThan(30);
  });
});

// Taf's TokenBucket counts whole microseconds and whole tokens, and drops the fractions.
describe("unlike Taf's TokenBucket", () => {
  test('polled every 1.5 ms at 1000/s for 15 s it admits 10,000 of 10,000 asked', () => {
    const clock = ManualClock.create();
    const bucket = TokenBucket.create({ rate: 1000, burst: 10, initial: 0, clock });
    expect(polled(bucket, clock, 1500, 10_000)).toBe(10_000);
    expect(clock.nowMs).toBe(15_000);
  });

  test('polled every 0.7 ms at 1000/s it admits 1000/s, to the token', () => {
    const clock = ManualClock.create();
    const bucket = TokenBucket.create({ rate: 1000, burst: 10, initial: 0, clock });
    // 21,000 polls are 14.7 s.
    expect(polled(bucket, clock, 700, 21_000)).toBe(14_700);
  });

  test('the first call on a bucket of rate 1e9 gets its whole burst', () => {
    for (const nowMs of [0, 1705509033000]) {
      const clock = ManualClock.create({ nowMs });
      const bucket = TokenBucket.create({ rate: 1e9, burst: 100_000, clock });
      expect(bucket.consumeOrDrain(1e6)).toBe(100_000);
      expect(bucket.consumeOrDrain(1e6)).toBe(0);
    }
  });

  test('a million calls at 700,000/s gain no microsecond', () => {
    const clock = ManualClock.create();
    const bucket = TokenBucket.create({ rate: 700_000, burst: 1000, clock });
    bucket.consumeOrDrain(1000);
    expect(polled(bucket, clock, 1, 1_000_000)).toBe(700_000);
    expect(bucket.tryConsume()).toBe(false);
  });
});

describe("unlike Taf's LeakBucket", () => {
  test('an idle bucket does not catch up on missed slots', () => {
    const clock = ManualClock.create();
    const bucket = LeakyBucket.create({ rate: 1000, clock });
    clock.advance(10_000);
    let atOnce = 0;
    while (bucket.acquire(1, 0) === 0) atOnce++;
    expect(atOnce).toBe(1);
  });

  test('a timeout is in milliseconds: a wait of 5 ms is within 6 ms, and not within 4 ms', () => {
    const clock = ManualClock.create();
    const bucket = LeakyBucket.create({ rate: 200, clock });
    expect(bucket.waitSync(1, { timeoutMs: 0 })).toBe(true);
    expect(bucket.reserve(1, { maxWaitMs: 4 })).toBe(undefined);
    expect(bucket.waitSync(1, { timeoutMs: 4 })).toBe(false);
    expect(bucket.reserve(1, { maxWaitMs: 6 })?.waitMs).toBe(5);
  });

  test('intervals are exact in the microseconds of the Unix epoch', () => {
    const clock = ManualClock.create({ nowMs: 1705509033000 });
    const bucket = LeakyBucket.create({ rate: 8000, clock });
    for (let i = 0; i < 1000; i++) expect(bucket.acquire()).toBe(i / 8);
  });
});
