import { describe, expect, test, vi } from 'vitest';
import { ManualClock, TokenBucket } from '../../src/index.ts';

const DAY_MS = 86_400_000;
const MIDNIGHT_MS = Date.UTC(2030, 0, 1);
const quota = { quantum: 100, fillIntervalMs: DAY_MS, burst: 100 };

describe('a quota that is aligned', () => {
  test.each([
    ['before', MIDNIGHT_MS - 5 * DAY_MS],
    ['after', MIDNIGHT_MS + 3 * DAY_MS],
    ['on the day', MIDNIGHT_MS],
  ])('resets at midnight UTC, with an instant %s', (_, alignToMs) => {
    const clock = ManualClock.create({ nowMs: MIDNIGHT_MS - 3_600_000 });
    const bucket = TokenBucket.create({ ...quota, alignToMs, clock });
    expect(bucket.consumeOrDrain(100)).toBe(100);
    expect(bucket.timeUntil(1)).toBe(3_600_000);
    clock.advance(3_599_999);
    expect(bucket.available()).toBe(0);
    clock.advance(1);
    expect(bucket.consumeOrDrain(70)).toBe(70);
    clock.advance(DAY_MS - 1);
    expect(bucket.available()).toBe(30);
    clock.advance(1);
    expect(bucket.available()).toBe(100);
  });

  test('keeps its initial tokens until the next fill', () => {
    const clock = ManualClock.create({ nowMs: MIDNIGHT_MS + 1 });
    const bucket = TokenBucket.create({ ...quota, initial: 7, alignToMs: 0, clock });
    expect(bucket.available()).toBe(7);
  });

  test('follows the wall clock at creation, on the system clock', () => {
    vi.spyOn(Date, 'now').mockReturnValue(MIDNIGHT_MS + 60_000);
    const bucket = TokenBucket.create({ ...quota, initial: 0, alignToMs: MIDNIGHT_MS });
    const leftMs = bucket.timeUntil(1);
    expect(leftMs).toBeGreaterThan(DAY_MS - 120_000);
    expect(leftMs).toBeLessThanOrEqual(DAY_MS - 60_000);
  });

  test('needs a quantum, and an instant that a date can have', () => {
    expect(() => TokenBucket.create({ rate: 1, burst: 1, alignToMs: 0 })).toThrow(
      new TypeError('alignToMs needs a quantum and fillIntervalMs'),
    );
    expect(() => TokenBucket.create({ ...quota, alignToMs: 1e16 })).toThrow(/^alignToMs must be/);
    const date = new Date(0) as unknown as number;
    expect(() => TokenBucket.create({ ...quota, alignToMs: date })).toThrow(TypeError);
  });
});
