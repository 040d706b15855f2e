import { expect, test } from 'vitest';
import { ManualClock } from '../../../src/index.ts';
import { ConsistentRateLimitingSampler } from '../../../src/integrations/opentelemetry.ts';
import { IN_FULL, Random } from '../../support/random.ts';
import { adjustedCount, decide, isKept, randomTraceId } from './spans.ts';

const STEP_MS = 10;

/** The sum of adjusted counts over the truth, in the last of some steps: deterministic. */
function ratioFor(
  seed: number,
  options: { rate: number; burst: number; smoothingMs: number },
  spansPerStep: readonly number[],
  steps: number,
  only = 0,
) {
  const clock = ManualClock.create();
  const sampler = ConsistentRateLimitingSampler.create({ ...options, clock });
  const random = new Random(seed);
  let [arrived, counted] = [0, 0];
  for (const [phase, spans] of spansPerStep.entries()) {
    for (let span = 0; span < spans * steps; span++) {
      if (span % spans === 0) clock.advance(STEP_MS);
      const result = decide(sampler, randomTraceId(random));
      if (phase < only) continue;
      arrived++;
      if (isKept(result)) counted += adjustedCount(result.traceState) ?? 0;
    }
  }
  return { ratio: counted / arrived, refused: sampler.stats().refused };
}

test('the counts are unbiased over 200 seeds', () => {
  const seeds = IN_FULL ? 200 : 10;
  const options = { rate: 10_000, burst: 1000, smoothingMs: 100 };
  let sum = 0;
  for (let seed = 1; seed <= seeds; seed++) {
    const { ratio, refused } = ratioFor(seed, options, [10, 1000, 100], 40);
    expect(refused).toBe(0);
    sum += ratio;
  }
  // To 0.2 % over all seeds; fewer are as much less sure.
  expect(Math.abs(sum / seeds - 1)).toBeLessThan(0.002 * Math.sqrt(200 / seeds));
});

test('in the time constant in which the limit refuses spans, their counts are missing', () => {
  const seeds = 50;
  // A burst of a hundredth of a second, in a jump of 100 times.
  const options = { rate: 1000, burst: 10, smoothingMs: 100 };
  let sum = 0;
  for (let seed = 1; seed <= seeds; seed++) {
    const { ratio, refused } = ratioFor(seed, options, [10, 1000], 10, 1);
    expect(refused).toBeGreaterThan(10);
    sum += ratio;
  }
  expect(sum / seeds).toBeLessThan(0.9);
  expect(sum / seeds).toBeGreaterThan(0.4);
});
