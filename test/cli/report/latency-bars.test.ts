import { Int32Histogram } from 'hdr-histogram-js';
import { expect, it } from 'vitest';
import { latencyBars } from '../../../src/cli/report/distributions.ts';

it('bars end at 1, 2 and 5 times a power of ten, and hold every value', () => {
  const histogram = new Int32Histogram(1, 3.6e9, 3);
  for (const us of [900, 1_000, 1_001, 2_000, 4_000, 4_900, 30_000]) histogram.recordValue(us);
  expect(latencyBars('title', histogram, 'requests')).toMatchObject({
    labels: ['0.50 ms', '1.00 ms', '2.00 ms', '5.00 ms', '10.0 ms', '20.0 ms', '50.0 ms'],
    values: [0, 2, 2, 2, 0, 0, 1],
  });
});

it('an empty histogram has one empty bar', () => {
  const bars = latencyBars('title', new Int32Histogram(1, 3.6e9, 3), 'requests');
  expect(bars.values).toEqual([0]);
});
