import { setTimeout } from 'node:timers/promises';
import { ManualClock } from '../../src/index.ts';
import {
  ConsistentRateLimitingSampler,
  type SamplerHandle,
} from '../../src/integrations/opentelemetry.ts';
import {
  adjustedCount,
  decide,
  isKept,
  randomTraceId,
} from '../integrations/opentelemetry/spans.ts';
import { Random } from '../support/random.ts';
import { serve } from '../support/serve.ts';

/** Spans arrive at all threads, step by step of a manual clock, which the first thread moves on. */
export interface SamplingJob {
  readonly handle: SamplerHandle;
  readonly threads: number;
  readonly stepMs: number;
  /** How many spans arrive at all threads in each step. */
  readonly spans: Uint32Array;
  readonly seed: number;
  /** One in this many spans is of the operation `rare`, the others are `hot`. Default: none. */
  readonly rareEvery?: number;
}

/** What a thread kept in each step. */
export interface Sampled {
  readonly kept: Uint32Array;
  /** The sum of the adjusted counts. */
  readonly counted: Float64Array;
  /**
   * The sum of n * (n - 1) over the adjusted counts n: the estimate of the variance of the sum of
   * counts (Horvitz and Thompson 1952, for independent decisions of probability 1 / n).
   */
  readonly variance: Float64Array;
  /** Kept spans without an adjusted count. */
  readonly uncounted: Uint32Array;
  /** The spans that the limit had refused in all threads, as the first thread saw it. */
  readonly refused: Uint32Array;
  /** The kept spans that are rare. */
  readonly rare: Uint32Array;
}

function advance(handle: SamplerHandle, ms: number): void {
  const { clock } = handle.bucket;
  if (clock.name === 'manual') ManualClock.attach(clock).advance(ms);
}

serve(async (job: SamplingJob, me: number, meet): Promise<Sampled> => {
  const { handle, threads, stepMs, spans, seed } = job;
  const { rareEvery = Number.POSITIVE_INFINITY } = job;
  const sampler = ConsistentRateLimitingSampler.attach(handle);
  const random = new Random(seed + me);
  const perStep = () => new Uint32Array(spans.length);
  const [kept, uncounted, refused, rare] = [perStep(), perStep(), perStep(), perStep()];
  let arrived = 0;
  const counted = new Float64Array(spans.length);
  const variance = new Float64Array(spans.length);
  for (const [step, arriving] of spans.entries()) {
    const mine = Math.floor((arriving + me) / threads);
    // The number of rare spans that are due; the threads take turns.
    const due = Math.floor((arrived + arriving) / rareEvery) - Math.floor(arrived / rareEvery);
    const mineRare = step % threads === me ? due : 0;
    arrived += arriving;
    for (let span = 0; span < mine; span++) {
      const isRare = span < mineRare;
      const result = decide(sampler, randomTraceId(random), undefined, isRare ? 'rare' : 'hot');
      if (!isKept(result)) continue;
      if (isRare) rare[step] = (rare[step] ?? 0) + 1;
      kept[step] = (kept[step] ?? 0) + 1;
      const count = adjustedCount(result.traceState);
      if (count === undefined) {
        uncounted[step] = (uncounted[step] ?? 0) + 1;
        continue;
      }
      counted[step] = (counted[step] ?? 0) + count;
      variance[step] = (variance[step] ?? 0) + count * (count - 1);
    }
    meet();
    if (me === 0) {
      refused[step] = sampler.stats().refused;
      advance(handle, stepMs);
    }
    meet();
    // Lets the thread be ended.
    if (step % 1000 === 999) await setTimeout(0);
  }
  return { kept, counted, variance, uncounted, refused, rare };
});
