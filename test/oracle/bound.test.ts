import { expect, test } from 'vitest';
import { part, Random, SEED } from '../support/random.ts';
import { type Granted, mostBeyond, type RateChange } from './bound.ts';

const SECOND = 1e6;

test('the worst interval is what the sum of every interval finds, and instants that are doubtful too', () => {
  for (let run = 0; run < part(1000, 50); run++) {
    const random = new Random(SEED + run);
    const rates: RateChange[] = Array.from({ length: 4 }, (_, i) => ({
      ...{ atUs: i * 10 * SECOND, rate: random.below(4) },
    }));
    const granted: Granted[] = Array.from({ length: 20 }, () => ({
      ...{ atUs: random.below(40) * SECOND, n: 1 + random.below(5) },
    }));
    const arrived = (from: number, to: number) =>
      rates.reduce((sum, { atUs, rate }) => {
        const span = Math.min(to, atUs + 10 * SECOND) - Math.max(from, atUs);
        return sum + (Math.max(0, span) / SECOND) * rate;
      }, 0);
    const sums = granted.flatMap(({ atUs: from }) =>
      granted.map(({ atUs: to }) => {
        const within = granted.filter(({ atUs }) => atUs >= from && atUs <= to);
        return within.reduce((sum, { n }) => sum + n, 0) - arrived(from, to);
      }),
    );
    const label = `seed ${SEED}, run ${run}`;
    expect(mostBeyond(granted, rates).beyond, label).toBeCloseTo(Math.max(...sums));
    const doubtful = granted.map((one) => ({ ...one, untilUs: one.atUs }));
    expect(mostBeyond(doubtful, rates).beyond, label).toBeCloseTo(Math.max(...sums));
  }
});

test('what was returned in an interval counts only if it was taken before', () => {
  const rates = [{ atUs: 0, rate: 1 }];
  const granted = [0, 2, 2].map((second) => ({ atUs: second * SECOND, n: 3 }));
  expect(mostBeyond(granted, rates).beyond).toBe(7);
  const returned = (takenUs: number) => [{ atUs: 2 * SECOND, takenUs, n: 2 }];
  expect(mostBeyond(granted, rates, returned(SECOND)).beyond).toBe(7);
  expect(mostBeyond(granted, rates, returned(-SECOND)).beyond).toBe(5);
});
