import { expect, test } from 'vitest';
import { mostBeyondRate, type Spend } from '../../bench/spend-log.ts';
import { Random, SEED } from '../support/random.ts';

function slowly(spends: readonly Spend[], rate: number): number {
  let most = 0;
  for (const { fromUs } of spends) {
    for (const { toUs } of spends) {
      const inside = spends.filter((spend) => spend.fromUs >= fromUs && spend.toUs <= toUs);
      const tokens = inside.reduce((sum, spend) => sum + spend.tokens, 0);
      if (toUs >= fromUs) most = Math.max(most, tokens - (rate * (toUs - fromUs)) / 1e6);
    }
  }
  return most;
}

test(`finds the tightest interval of all (ZEROTIME_SEED=${SEED})`, () => {
  const random = new Random(SEED);
  for (let round = 0; round < 300; round++) {
    const spends = Array.from({ length: random.below(30) }, () => {
      const fromUs = 1e9 + random.below(200);
      return { fromUs, toUs: fromUs + random.below(40), tokens: 1 + random.below(9) };
    });
    const rate = 1e5 * random.below(10);
    expect(mostBeyondRate(spends, rate)).toBeCloseTo(slowly(spends, rate), 5);
  }
});

test('an empty list of spends breaks no bound', () => {
  expect(mostBeyondRate([], 1)).toBe(0);
});
