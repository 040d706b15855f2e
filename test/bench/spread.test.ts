import { expect, test } from 'vitest';
import { median, ratios, shownSpread, standardDeviation } from '../../bench/spread.ts';

test.each([
  [[7], 7],
  [[9, 1, 4], 4],
  [[8, 1, 4, 2], 3],
])('the median of %j is %d', (values, middle) => {
  expect(median(values)).toBe(middle);
});

test('ratios are taken round by round', () => {
  expect(ratios([2, 9, 5], [4, 3, 5])).toEqual([0.5, 3, 1]);
});

test('a spread shows median, minimum and maximum with three significant digits', () => {
  expect(shownSpread([0.12345, 2_603_103.9, 205.05])).toBe('205 (0.123..2,600,000)');
});

test('the standard deviation is that of the whole population', () => {
  expect(standardDeviation([2, 4, 4, 4, 5, 5, 7, 9])).toBe(2);
  expect(standardDeviation([500, 500])).toBe(0);
});
