import { expect } from 'vitest';

// To expect something takes ten times as long as most calls on a limiter, so what holds is not expected.

/** Expects the very same value. */
export function expectSame(answer: unknown, expected: unknown, label?: string): void {
  if (!Object.is(answer, expected)) expect(answer, label).toBe(expected);
}

/** Expects a number as close as `toBeCloseTo` does. */
export function expectClose(
  answer: number | undefined,
  expected: number,
  digits = 2,
  label?: string,
): void {
  const isClose =
    answer === expected || Math.abs((answer ?? Number.NaN) - expected) < 10 ** -digits / 2;
  if (!isClose) expect(answer, label).toBeCloseTo(expected, digits);
}
