import { attach, LeakyBucket, type LimiterHandle, TokenBucket } from '../../src/index.ts';
import { damaged } from '../support/damage.ts';
import { Random } from '../support/random.ts';
import { Attempts } from '../support/random-call.ts';
import { serve } from '../support/serve.ts';

/** Attaches damaged handles and calls the resulting limiters. */
export interface FuzzJob {
  /** One Int32 per thread: the number of its current case. */
  readonly progress: SharedArrayBuffer;
  readonly cases: number;
  readonly seed: number;
}

export interface Fuzzed {
  readonly attached: number;
  /** How often each documented error was thrown. */
  readonly thrown: Readonly<Record<string, number>>;
  /** Cases with any other outcome. */
  readonly failures: readonly string[];
}

serve(({ progress, cases, seed }: FuzzJob, me): Fuzzed => {
  const at = new Int32Array(progress);
  const attempts = new Attempts();
  let attached = 0;
  for (let i = 0; i < cases && attempts.failures.length < 10; i++) {
    const random = new Random(seed + i);
    const { handle, scribble, others } = damaged(random);
    const before = others?.();
    const given = handle as unknown as LimiterHandle<'token-bucket'>;
    const bucket = attempts.make(`case ${i} of ${seed}, attach`, () => {
      const how = random.below(3);
      return how === 0
        ? TokenBucket.attach(given)
        : how === 1
          ? LeakyBucket.attach(handle as unknown as LimiterHandle<'leaky-bucket'>)
          : attach(given);
    });
    if (bucket !== undefined) attached++;
    for (let calls = 0; bucket !== undefined && calls < 8; calls++) {
      attempts.call(`case ${i} of ${seed}, call ${calls}`, random, bucket);
      if (random.below(2) === 0) scribble();
    }
    if (before !== undefined && others?.().equals(before) === false) {
      attempts.failures.push(`case ${i} of ${seed}: wrote outside of its limiter`);
    }
    Atomics.store(at, me, i + 1);
    if (i % 100 === 0) Atomics.notify(at, me);
  }
  return { attached, thrown: attempts.thrown, failures: attempts.failures };
});
