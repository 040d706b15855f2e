import { expect, test } from 'vitest';
import { calibrationMs, p99Of } from '../../bench/wrk2.ts';

const summary = (p99: string) => `
  Latency Distribution (HdrHistogram - Recorded Latency)
 50.000%    1.13ms
 90.000%    1.70ms
 99.000%  ${p99}
 99.900%    3.10ms
`;

test.each([
  ['  812.00us', 0.812],
  ['    2.52ms', 2.52],
  ['    1.20s ', 1_200],
  ['    1.50m ', 90_000],
])('the p99 of wrk2 is read with its unit: %s', (text, ms) => {
  expect(p99Of(summary(text))).toBeCloseTo(ms, 9);
});

test('a summary without a p99 is an error that shows it', () => {
  expect(() => p99Of('unable to connect')).toThrow('unable to connect');
});

test('wrk2 calibrates longer with more connections', () => {
  expect(calibrationMs(2, 64)).toBe(10_160);
});
