import { expect, test } from 'vitest';
import { probabilityOf } from '../../../src/integrations/opentelemetry/probability.ts';

const limit = { rate: 100, burst: 101 };

test.each([
  ['aims at the rate with a bucket that is half full', 51, 10_000, 0.01],
  ['keeps more of the spans if the bucket is fuller', 81, 10_000, 0.04],
  ['keeps fewer if it is emptier', 21, 10_000, 0.0025],
  ['keeps every span if it is full', 101, 1e9, 1],
  ['keeps every span if fewer arrive than the limit lets through', 51, 50, 1],
  ['keeps every span if none has arrived', 51, 0, 1],
  ['aims at no less than 1/128 of the rate', 1, 1000, 0.1 / 128],
  ['aims at the rate where each span is refused', 0.9, 10_000, 0.01],
])('%s', (_, balance, perSecond, probability) => {
  expect(probabilityOf({ ...limit, balance, perSecond })).toBeCloseTo(probability, 12);
});

test('keeps next to nothing while the limit is paused', () => {
  expect(probabilityOf({ rate: 0, burst: 101, balance: 51, perSecond: 10 })).toBe(0);
});
