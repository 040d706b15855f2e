import { describe, expect, it } from 'vitest';
import { parseLimiter } from '../../src/simulate/limiter-specs.ts';

/** Instants in milliseconds, their peak, and whether the bound allows it. */
const CASES: readonly (readonly [
  limiter: string,
  ms: readonly number[],
  peak: number,
  held: boolean,
])[] = [
  ['token-bucket rate=1000 burst=2', [0, 0, 1, 2], 2, true],
  ['token-bucket rate=1000 burst=2', [0, 0, 1, 1], 3, false],
  ['token-bucket rate=1000 burst=2', [0, 10, 20, 20, 20.5], 2.5, false],
  ['token-bucket rate=1000 burst=2', [0, 10, 20, 20, 21, 22], 2, true],
  ['leaky-bucket rate=1000', [0, 1, 2, 2.999], 1.001, false],
  ['leaky-bucket rate=1000 slack=1', [0, 5, 5, 6], 2, true],
  ['token-bucket quantum=2 fillIntervalMs=10 burst=2', [9, 9, 10, 10, 20], 2, true],
  ['token-bucket quantum=2 fillIntervalMs=10 burst=2', [9, 9, 10, 10, 19], 3, false],
  ['sliding-log limit=2 intervalMs=10', [0, 5, 10, 15], 2, true],
  ['sliding-log limit=2 intervalMs=10', [0, 5, 9.999], 3, false],
  ['fixed-window limit=2 intervalMs=10', [9, 9, 10, 10, 20], 4, true],
  ['fixed-window limit=2 intervalMs=10', [9, 9, 10, 10, 18], 5, false],
  ['sliding-window limit=2 intervalMs=10 slots=5', [0, 0, 8], 2, true],
  ['sliding-window limit=2 intervalMs=10 slots=5', [0, 0, 7.9], 3, false],
];

describe('a bound', () => {
  it.each(CASES)('of %j: %j has a peak of %d, held is %s', (text, instants, peak, held) => {
    const [bound] = parseLimiter(text).bounds();
    for (const ms of instants) bound?.add(ms * 1_000);
    expect(bound?.peak).toBeCloseTo(peak, 9);
    expect(bound?.held).toBe(held);
  });

  it.each([
    ['token-bucket rate=1000 burst=2', 10, 12],
    ['token-bucket quantum=3 fillIntervalMs=10 burst=2', 25, 11],
    ['sliding-log limit=2 intervalMs=10', 25, 6],
    ['fixed-window limit=2 intervalMs=10', 25, 8],
    ['sliding-window limit=2 intervalMs=10 slots=5', 8, 2],
    ['sliding-window limit=2 intervalMs=10 slots=1', 10, 4],
  ])('of %j says how many a span of %d ms may hold: %d', (text, spanMs, most) => {
    expect(
      parseLimiter(text)
        .bounds()[0]
        ?.most(spanMs * 1_000),
    ).toBeCloseTo(most, 9);
  });
});
