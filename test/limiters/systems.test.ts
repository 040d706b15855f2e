import { describe, expect, test } from 'vitest';
import { LeakyBucket, ManualClock, TokenBucket } from '../../src/index.ts';
import { Rational } from '../support/rational.ts';

describe('like golang.org/x/time/rate', () => {
  // https://github.com/golang/go/issues/52584
  test('a refused request leaves no trace in the waits of later ones', () => {
    const clock = ManualClock.create();
    const bucket = TokenBucket.create({ rate: 10, burst: 5, clock });
    bucket.tryConsume(5);
    clock.advance(50);
    expect(bucket.reserve(3, { maxWaitMs: 100 })).toBe(undefined);
    expect(() => bucket.reserve(6)).toThrow();
    expect(bucket.reserve(1)?.waitMs).toBe(50);
  });

  test('a reservation is granted for its instant, and reports it', () => {
    const clock = ManualClock.create({ nowMs: 1000 });
    const bucket = TokenBucket.create({ rate: 10, burst: 5, clock });
    expect(bucket.reserve(5)).toMatchObject({ waitMs: 0, atUs: 1_000_000 });
    expect(bucket.reserve(2)).toMatchObject({ waitMs: 200, atUs: 1_200_000 });
  });
});

describe('unlike go.uber.org/ratelimit', () => {
  const slots = (bucket: LeakyBucket, n: number) =>
    Array.from({ length: n }, () => bucket.acquire());

  // https://github.com/uber-go/ratelimit/issues/106, /119 and /120: no limit after idling.
  test('a limit holds after idling, however long and whatever the slack', () => {
    for (const slack of [0, 10]) {
      for (const idleMs of [1000, 30_000, 86_400_000, 10 * 365 * 86_400_000]) {
        const clock = ManualClock.create();
        const bucket = LeakyBucket.create({ rate: 100, slack, clock });
        slots(bucket, 20);
        clock.advance(200 + idleMs);
        const waits = slots(bucket, 1000);
        expect(waits.filter((ms) => ms === 0)).toHaveLength(1 + slack);
        expect(waits.at(-1)).toBe((999 - slack) * 10);
      }
    }
  });

  // https://github.com/uber-go/ratelimit/issues/122
  test('a slack of 2 is 2, after four idle seconds at 1/s', () => {
    const clock = ManualClock.create();
    const bucket = LeakyBucket.create({ rate: 1, slack: 2, clock });
    expect(bucket.acquire()).toBe(0);
    clock.advance(4000);
    expect(slots(bucket, 6)).toEqual([0, 0, 0, 1000, 2000, 3000]);
  });

  // https://github.com/uber-go/ratelimit/issues/73 and /99
  test('a slot can be requested with a timeout, and returned', () => {
    const clock = ManualClock.create();
    const bucket = LeakyBucket.create({ rate: 10, clock });
    expect(bucket.waitSync(1, { timeoutMs: 0 })).toBe(true);
    expect(bucket.reserve(1, { maxWaitMs: 99 })).toBe(undefined);
    expect(bucket.waitSync(1, { timeoutMs: 99 })).toBe(false);
    const slot = bucket.reserve();
    expect(slot?.waitMs).toBe(100);
    expect(slot?.cancel()).toBe(true);
    expect(bucket.acquire()).toBe(100);
  });
});

// https://github.com/juju/ratelimit: tokens arrive a quantum at a time, at the ticks of an interval
// that begins at the bucket's creation. Each step: time, tokens taken, wait.
describe('like github.com/juju/ratelimit', () => {
  test.each([
    ['serial requests', [1, 250, 10], '0/0/0 0/10/0 0/1/250 250/1/250'],
    ['concurrent requests', [1, 250, 10], '0/10/0 0/2/500 0/2/1000 0/1/1250'],
    ['between two ticks', [1, 10, 10], '0/10/0 7/1/3 8/1/12'],
    ['within the capacity', [1, 10, 5], '0/5/0 60/5/0 60/1/10 80/2/10'],
    ['a quantum at a time', [4, 10, 10], '0/10/0 5/1/5 5/3/5 5/1/15 25/3/0 30/4/0 31/1/9'],
    ['a tick that fills the bucket only to the brim', [3, 10, 5], '0/1/0 10/5/0 19/1/1 20/2/0'],
  ] as const)('%s', (_, [quantum, fillIntervalMs, burst], steps) => {
    const clock = ManualClock.create({ nowMs: 500_003 });
    const bucket = TokenBucket.create({ quantum, fillIntervalMs, burst, clock });
    for (const step of steps.split(' ')) {
      const [atMs = 0, n, waitMs = Number.NaN] = step.split('/').map(Number);
      clock.set(500_003 + atMs);
      // To the nanosecond, because times between ticks are rounded to 1/4096 us.
      expect(bucket.acquire(n), step).toBeCloseTo(waitMs, 6);
    }
  });

  test('TakeAvailable: as many as are available at this tick', () => {
    const clock = ManualClock.create();
    const bucket = TokenBucket.create({ quantum: 2, fillIntervalMs: 1000, burst: 5, clock });
    expect(bucket.consumeOrDrain(3)).toBe(3);
    expect(bucket.consumeOrDrain(3)).toBe(2);
    clock.set(999);
    expect(bucket.consumeOrDrain(3)).toBe(0);
    clock.set(1250);
    expect(bucket.consumeOrDrain(1)).toBe(1);
    expect(bucket.available()).toBe(1);
  });

  test('TakeMaxDuration: within the maximum wait or not at all', () => {
    const clock = ManualClock.create();
    const bucket = TokenBucket.create({
      quantum: 1,
      fillIntervalMs: 10,
      burst: 5,
      initial: 0,
      clock,
    });
    clock.set(4);
    expect(bucket.reserve(2, { maxWaitMs: 15 })).toBe(undefined);
    expect(bucket.reserve(2, { maxWaitMs: 16 })?.waitMs).toBe(16);
    expect(bucket.timeUntil(1)).toBe(26);
  });

  test('a rate that is not a whole quantum per interval is exact; juju is off by up to 1 %', () => {
    const clock = ManualClock.create();
    const bucket = TokenBucket.create({ rate: 1234.567, burst: 2000, initial: 0, clock });
    let admitted = 0;
    for (let second = 1; second <= 100_000; second++) {
      clock.set(second * 1000);
      admitted += bucket.consumeOrDrain(2000);
    }
    expect(admitted).toBe(123_456_700);
  });
});

/** floor(burst + rate x t), without rounding. */
function allowed(rate: number, burst: number, us: number): number {
  const inflow = Rational.of(rate).times(Rational.of(us)).over(Rational.of(1e6));
  return Rational.of(burst).plus(inflow).floor().toNumber();
}

// The behaviour of https://github.com/facebook/folly/blob/main/folly/TokenBucket.h without its bugs.
// Taf's TokenBucket counts whole microseconds and whole tokens, and drops the fractions.
describe('unlike the token buckets of folly and Taf', () => {
  const BOOTED_MS = 1705509033000;

  test.each([
    ['burst 1 admits all of a rate', 1e6, 1, 1, 1_000_000, 1_000_000, 0],
    ['a late clock is as exact as a new one', 1e6, 10, 0.5, 400_000, 200_000, 0, BOOTED_MS],
    ['a new clock is as exact as a late one', 1e6, 10, 0.5, 400_000, 200_000, 0],
    ['a rate above that of the polls admits them all', 1000, 10, 1500, 10_000, 10_000, 9],
    ['21,000 polls in 14.7 s get all tokens', 1000, 10, 700, 21_000, 14_700, 0],
    ['a million calls gain no microsecond', 700_000, 1000, 1, 1_000_000, 700_000, 0],
  ])(
    '%s: at %d/s with burst %d, polled every %d us %d times, it admits %d, and %d are left',
    (_, rate, burst, everyUs, polls, admitted, left, nowMs = 0) => {
      const clock = ManualClock.create({ nowMs });
      const bucket = TokenBucket.create({ rate, burst, clock });
      expect(bucket.consumeOrDrain(1e9)).toBe(burst);
      let got = 0;
      for (let i = 1; i <= polls; i++) {
        clock.set(nowMs + (i * everyUs) / 1000);
        if (bucket.tryConsume()) got++;
      }
      expect([got, bucket.balance()]).toEqual([admitted, left]);
    },
  );

  // https://github.com/facebook/folly/issues/2430
  test('a bucket of rate 0.0001 is full right after creation, however short the uptime', () => {
    for (const nowMs of [0, 0.001, 3_600_000]) {
      const clock = ManualClock.create({ nowMs });
      const bucket = TokenBucket.create({ rate: 0.0001, burst: 1, clock });
      expect(bucket.acquire(1)).toBe(0);
      expect(bucket.acquire(1)).toBe(10_000_000);
    }
  });

  test('the first call on a bucket of rate 1e9 gets its whole burst', () => {
    for (const nowMs of [0, BOOTED_MS]) {
      const clock = ManualClock.create({ nowMs });
      const bucket = TokenBucket.create({ rate: 1e9, burst: 100_000, clock });
      expect(bucket.consumeOrDrain(1e6)).toBe(100_000);
      expect(bucket.consumeOrDrain(1e6)).toBe(0);
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
