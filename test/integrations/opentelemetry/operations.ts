import { ManualClock, type Region } from '../../../src/index.ts';
import { ConsistentRateLimitingSampler } from '../../../src/integrations/opentelemetry.ts';
import { Random } from '../../support/random.ts';
import { adjustedCount, decide, isKept, randomTraceId } from './spans.ts';

interface Limits {
  readonly rate: number;
  readonly burst?: number;
  readonly minimum?: number;
  readonly minimumBurst?: number;
  readonly operations?: number;
  readonly region?: Region;
}

/** A sampler on a manual clock, and what draws its trace ids. */
export function scene(options: Limits) {
  const clock = ManualClock.create();
  const sampler = ConsistentRateLimitingSampler.create({ ...options, clock });
  return { clock, sampler, random: new Random(1) };
}

type Scene = ReturnType<typeof scene>;

/** What became of the spans of an operation. */
export interface Tally {
  arrived: number;
  kept: number;
  counted: number;
}

/** Lets operations arrive, each with its steps of 1 ms from one span to the next. */
export function arrive(
  { clock, sampler, random }: Scene,
  everyMs: Readonly<Record<string, number>>,
  seconds: number,
): Record<string, Tally> {
  const names = Object.keys(everyMs);
  const tallies = Object.fromEntries(
    names.map((name) => [name, { arrived: 0, kept: 0, counted: 0 }]),
  );
  for (let ms = 1; ms <= seconds * 1000; ms++) {
    clock.advance(1);
    for (const name of names) {
      const every = everyMs[name] ?? 0;
      const tally = tallies[name] as Tally;
      for (; tally.arrived < ms / every; tally.arrived++) {
        const result = decide(sampler, randomTraceId(random), undefined, name);
        if (!isKept(result)) continue;
        tally.kept++;
        tally.counted += adjustedCount(result.traceState) ?? 0;
      }
    }
  }
  return tallies;
}
