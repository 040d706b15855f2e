import { expect, test } from 'vitest';
import { ManualClock } from '../../../src/index.ts';
import { ConsistentRateLimitingSampler } from '../../../src/integrations/opentelemetry.ts';
import { Crew } from '../../support/crew.ts';
import { part, SEED } from '../../support/random.ts';
import type { Sampled, SamplingJob } from '../../workers/sampling.ts';

const THREADS = 4;
const STEP_MS = 10;
const STEPS_PER_SECOND = 1000 / STEP_MS;
const RATE = 5000;
const BURST = 5000;

/** Spans per second, and for how many seconds: 10 million spans in full. */
const COURSE = [
  [1000, part(100, 10)],
  [100_000, part(90, 3)],
  [10_000, part(90, 10)],
] as const;

/** Sums of the first 0, 1, 2 ... elements. */
function sums(values: Iterable<number>): Float64Array {
  const all = [0];
  for (const value of values) all.push((all.at(-1) ?? 0) + value);
  return Float64Array.from(all);
}

function total(
  results: readonly Sampled[],
  field: 'kept' | 'counted' | 'variance' | 'uncounted' | 'rare',
): Float64Array {
  const [first] = results;
  return sums(
    Array.from(first?.kept ?? [], (_, step) =>
      results.reduce((sum, result) => sum + (result[field][step] ?? 0), 0),
    ),
  );
}

async function sample(
  burst: number,
  course: readonly (readonly [number, number])[],
  rate: number,
  { minimum, rareEvery }: { readonly minimum?: number; readonly rareEvery?: number } = {},
) {
  const clock = ManualClock.create();
  const own = minimum === undefined ? {} : { minimum };
  const sampler = ConsistentRateLimitingSampler.create({ rate, burst, clock, ...own });
  const spans = Uint32Array.from(
    course.flatMap(([perSecond, seconds]) =>
      Array<number>(seconds * STEPS_PER_SECOND).fill(perSecond / STEPS_PER_SECOND),
    ),
  );
  const crew = await Crew.start<SamplingJob, Sampled>('sampling', THREADS);
  const results = await crew.run({
    ...{ handle: sampler.handle, threads: THREADS, stepMs: STEP_MS, spans, seed: SEED },
    ...(rareEvery === undefined ? {} : { rareEvery }),
  });
  const refused = Float64Array.from(spans, (_, step) =>
    Math.max(...results.map((result) => result.refused[step] ?? 0)),
  );
  return {
    arrived: sums(spans),
    kept: total(results, 'kept'),
    counted: total(results, 'counted'),
    variance: total(results, 'variance'),
    uncounted: total(results, 'uncounted'),
    refused: Float64Array.from([0, ...refused]),
    rare: total(results, 'rare'),
  };
}

/** The most that any interval keeps beyond rate x t: at most the burst, if the limit holds. */
function mostBeyond(kept: Float64Array, rate: number): number {
  let least = Number.POSITIVE_INFINITY;
  let most = 0;
  for (const [step, sum] of kept.entries()) {
    // Before a step, and after the next: the clock stands still within a step.
    if (step > 0) most = Math.max(most, sum - ((step - 1) * rate) / STEPS_PER_SECOND - least);
    least = Math.min(least, sum - (step * rate) / STEPS_PER_SECOND);
  }
  return most;
}

const WINDOW = 10 * STEPS_PER_SECOND;

test('4 threads keep at most the limit, and the counts are right to 2 % over every 10 s', async () => {
  const { arrived, kept, counted, uncounted, refused } = await sample(BURST, COURSE, RATE);
  const spans = arrived.at(-1) ?? 0;
  expect(spans).toBe(COURSE.reduce((sum, [perSecond, seconds]) => sum + perSecond * seconds, 0));
  expect(mostBeyond(kept, RATE)).toBeLessThanOrEqual(BURST);
  let worst = 0;
  let windows = 0;
  for (let end = WINDOW; end < arrived.length; end += WINDOW) {
    const during = (sum: Float64Array) => (sum[end] ?? 0) - (sum[end - WINDOW] ?? 0);
    if (during(refused) > 0) continue;
    windows++;
    worst = Math.max(worst, Math.abs(during(counted) / during(arrived) - 1));
  }
  expect(windows).toBeGreaterThan((0.9 * arrived.length) / WINDOW - 1);
  expect(worst).toBeLessThan(0.02);
  expect(uncounted.at(-1)).toBeLessThanOrEqual(refused.at(-1) ?? 0);
  // It uses the limit: nearly all of it while more than the limit arrives.
  const busy = COURSE[1][1] + COURSE[2][1];
  expect((kept.at(-1) ?? 0) - COURSE[0][0] * COURSE[0][1]).toBeGreaterThan(0.95 * RATE * busy);
});

test('if the burst is too small for a jump, refused spans are missing, and are reported', async () => {
  const course = [
    [1000, 10],
    [50_000, 20],
  ] as const;
  const sampled = await sample(10, course, 1000);
  const { arrived, kept, counted, variance, uncounted, refused } = sampled;
  expect(mostBeyond(kept, 1000)).toBeLessThanOrEqual(10);
  expect(refused.at(-1)).toBeGreaterThan(0);
  expect(uncounted.at(-1)).toBeGreaterThan(0);
  expect(uncounted.at(-1)).toBeLessThanOrEqual(refused.at(-1) ?? 0);
  const at = 10 * STEPS_PER_SECOND;
  // What follows is right again.
  const later = (sum: Float64Array) => (sum.at(-1) ?? 0) - (sum[at + 300] ?? 0);
  // A burst of 10 refuses spans in every second. The counts lack those, and no others.
  const missing = (later(refused) + later(uncounted)) / (later(kept) + later(refused));
  const error = Math.sqrt(later(variance)) / later(arrived);
  expect(Math.abs(later(counted) / later(arrived) - 1 + missing)).toBeLessThan(5 * error);
  // The sum of these bounds is small enough to find a wrong probability.
  expect(missing + 5 * error).toBeLessThan(0.3);
});

// docs/sampling.md: "With minimum: 1, each operation keeps"
test('4 threads keep a rare operation by its minimum, and 999 times as many hot spans by the rest', async () => {
  const seconds = part(300, 30);
  const rules = { minimum: 1, rareEvery: 1000 };
  const { arrived, kept, counted, rare } = await sample(100, [[1000, seconds]], 100, rules);
  expect(mostBeyond(kept, 100)).toBeLessThanOrEqual(100);
  const last = (sum: Float64Array) => sum.at(-1) ?? 0;
  // One arrives in each second, and none is lost.
  expect(last(rare)).toBe(seconds);
  const rest = 100 * seconds - last(rare);
  expect(last(kept) - last(rare)).toBeGreaterThan(0.95 * rest);
  // Its standard error is 1 / sqrt(kept): five of them.
  expect(Math.abs(last(counted) / last(arrived) - 1)).toBeLessThan(5 / Math.sqrt(last(kept)));
});
