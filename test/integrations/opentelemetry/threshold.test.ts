import { expect, test } from 'vitest';
import { DIGITS, reaches, Threshold } from '../../../src/integrations/opentelemetry/threshold.ts';
import { Random, SEED } from '../../support/random.ts';

function thresholdFor(probability: number): Threshold {
  const threshold = new Threshold();
  threshold.set(probability);
  return threshold;
}

/** Spans that one at this threshold stands for, as the specification defines it. */
function adjustedCount(th: string): number {
  const rejected = Number(BigInt(`0x${th.padEnd(DIGITS, '0')}`));
  return 2 ** 56 / (2 ** 56 - rejected);
}

// The table of "Converting floating-point probability to threshold value", precision 4:
// https://opentelemetry.io/docs/specs/otel/trace/tracestate-probability-sampling/
test.each([
  [1, '0', 1],
  [1 / 2, '8', 2],
  [1 / 3, 'aaab', 3.00004577706569],
  [1 / 4, 'c', 4],
  [1 / 5, 'cccd', 5.0000762951094835],
  [1 / 8, 'e', 8],
  [1 / 10, 'e666', 9.99938968568813],
  [1 / 16, 'f', 16],
  [1 / 100, 'fd70a', 99.99771123402633],
  [1 / 1000, 'ffbe77', 1000.012874769029],
  [1 / 10_000, 'fff9724', 9999.830725674266],
  [1 / 100_000, 'ffff583a', 99999.238556461],
  [1 / 1_000_000, 'ffffef39', 999992.38556461],
])('encodes %d as the specification does: %s', (probability, th, count) => {
  const threshold = thresholdFor(probability);
  expect(threshold.text).toBe(th);
  expect(threshold.integer).toBe(BigInt(`0x${th.padEnd(14, '0')}`));
  expect(1 / threshold.probability).toBeCloseTo(count, 5);
  expect(adjustedCount(th)).toBeCloseTo(count, 5);
});

// "If randomness >= threshold, keep": test/sampler.test.ts of @opentelemetry/sampler-composite.
test.each([
  [0.5, '7fffffffffffff', false],
  [0.5, '80000000000000', true],
  [1, '00000000000000', true],
  [0.25, 'BFFFFFFFFFFFFF', false],
  [0.25, 'C0000000000000', true],
])('compares with randomness: %d, %s', (probability, rv, isMet) => {
  const threshold = thresholdFor(probability);
  expect(threshold.isMet(rv, 0)).toBe(isMet);
  expect(threshold.isMet(`0011223344556677_ ${rv}`, 18)).toBe(isMet);
  expect(reaches(rv, 0, threshold.text)).toBe(isMet);
});

test('drops spans whose randomness is cut off or no digits', () => {
  expect(thresholdFor(0.5).isMet('', -14)).toBe(false);
  expect(thresholdFor(1).isMet('', -14)).toBe(true);
});

test.each([0, -1, Number.NaN, 1e-300])('never goes below 2^-56: %d', (probability) => {
  const threshold = thresholdFor(probability);
  expect(threshold.text).toBe('ffffffffffffff');
  expect(threshold.probability).toBe(2 ** -56);
});

test('keeps four digits of any probability, in number and in text alike', () => {
  const random = new Random(SEED);
  const threshold = new Threshold();
  for (let i = 0; i < 20_000; i++) {
    const probability = random.logarithmic(2 ** -42, 1);
    threshold.set(probability);
    expect(Math.abs(threshold.probability / probability - 1)).toBeLessThan(1 / 8000);
    const rejected = BigInt(`0x${threshold.text.padEnd(DIGITS, '0')}`);
    expect(Number(2n ** 56n - rejected) / 2 ** 56).toBe(threshold.probability);
    const rv = random.bits().toString(16).padStart(8, '0').padEnd(DIGITS, '7');
    expect(threshold.isMet(rv, 0)).toBe(BigInt(`0x${rv}`) >= rejected);
  }
});
