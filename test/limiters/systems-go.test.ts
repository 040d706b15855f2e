import { describe, expect, test } from 'vitest';
import { LeakyBucket, ManualClock, TokenBucket } from '../../src/index.ts';

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
// that begins at the bucket's creation. Each row: time, tokens taken, wait.
describe('like github.com/juju/ratelimit', () => {
  test.each([
    {
      what: 'serial requests',
      limit: { quantum: 1, fillIntervalMs: 250, burst: 10 },
      rows: [
        [0, 0, 0],
        [0, 10, 0],
        [0, 1, 250],
        [250, 1, 250],
      ],
    },
    {
      what: 'concurrent requests',
      limit: { quantum: 1, fillIntervalMs: 250, burst: 10 },
      rows: [
        [0, 10, 0],
        [0, 2, 500],
        [0, 2, 1000],
        [0, 1, 1250],
      ],
    },
    {
      what: 'between two ticks',
      limit: { quantum: 1, fillIntervalMs: 10, burst: 10 },
      rows: [
        [0, 10, 0],
        [7, 1, 3],
        [8, 1, 12],
      ],
    },
    {
      what: 'within the capacity',
      limit: { quantum: 1, fillIntervalMs: 10, burst: 5 },
      rows: [
        [0, 5, 0],
        [60, 5, 0],
        [60, 1, 10],
        [80, 2, 10],
      ],
    },
    {
      what: 'a quantum at a time',
      limit: { quantum: 4, fillIntervalMs: 10, burst: 10 },
      rows: [
        [0, 10, 0],
        [5, 1, 5],
        [5, 3, 5],
        [5, 1, 15],
        [25, 3, 0],
        [30, 4, 0],
        [31, 1, 9],
      ],
    },
    {
      what: 'a tick that fills the bucket only to the brim',
      limit: { quantum: 3, fillIntervalMs: 10, burst: 5 },
      rows: [
        [0, 1, 0],
        [10, 5, 0],
        [19, 1, 1],
        [20, 2, 0],
      ],
    },
  ] as const)('$what', ({ limit, rows }) => {
    const clock = ManualClock.create({ nowMs: 500_003 });
    const bucket = TokenBucket.create({ ...limit, clock });
    for (const [atMs, n, waitMs] of rows) {
      clock.set(500_003 + atMs);
      // To the nanosecond, because times between ticks are rounded to 1/4096 us.
      expect(bucket.acquire(n), `${n} at ${atMs} ms`).toBeCloseTo(waitMs, 6);
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
