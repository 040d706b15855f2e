import {
  attach,
  HandleError,
  LeakyBucket,
  type LimiterHandle,
  RateLimitError,
  TokenBucket,
} from '../../src/index.ts';
import { damaged } from '../support/damage.ts';
import { Random } from '../support/random.ts';
import { serve } from '../support/serve.ts';

/** Attaches damaged handles and calls what it gets. */
export interface FuzzJob {
  /** An Int32 for each thread: the number of the case that it is at. */
  readonly progress: SharedArrayBuffer;
  readonly cases: number;
  readonly seed: number;
}

export interface Fuzzed {
  readonly attached: number;
  /** How often each error was thrown that may be. */
  readonly thrown: Readonly<Record<string, number>>;
  /** Cases that ended otherwise. */
  readonly failures: readonly string[];
}

const AMOUNTS = [0, 0.5, 1, 3, 10, 1e6, 2 ** 53, 1e300] as const;

/** The calls that are tried; each must return what its type says. */
function call(random: Random, bucket: TokenBucket | LeakyBucket): boolean {
  const n = random.pick(AMOUNTS);
  switch (random.below(11)) {
    case 0:
      return typeof bucket.tryConsume(n) === 'boolean';
    case 1:
      return typeof bucket.consumeOrDrain(n) === 'number';
    case 2:
      return typeof bucket.decide(n).allowed === 'boolean';
    case 3:
      return typeof bucket.acquire(n, random.pick([0, 5, Number.POSITIVE_INFINITY])) === 'number';
    case 4:
      return ['boolean', 'undefined'].includes(typeof bucket.reserve(n)?.cancel());
    case 5:
      return bucket.returnTokens(n) === undefined;
    case 6:
      return typeof bucket.balance() === 'number' && typeof bucket.available() === 'number';
    case 7:
      return typeof bucket.timeUntil(n) === 'number';
    case 8:
      return typeof bucket.stats().calls === 'number';
    case 9:
      return typeof bucket.rate === 'number' && typeof bucket.handle.nonce === 'number';
    default:
      // All of a limit, because what is left out is taken from the one in force, which may be damaged.
      if (bucket instanceof LeakyBucket) bucket.reconfigure({ rate: 50, slack: 1 });
      else bucket.reconfigure({ rate: 50, burst: 5 });
      return true;
  }
}

serve(({ progress, cases, seed }: FuzzJob, me): Fuzzed => {
  const at = new Int32Array(progress);
  const thrown: Record<string, number> = {};
  const failures: string[] = [];
  let attached = 0;
  /** Runs `work`; a throw that is documented is counted, and undefined returned. */
  const attempt = <T>(name: string, work: () => T): T | undefined => {
    try {
      return work();
    } catch (error) {
      if (error instanceof HandleError || error instanceof RateLimitError) {
        thrown[error.code] = (thrown[error.code] ?? 0) + 1;
      } else failures.push(`${name}: ${error instanceof Error ? error.stack : String(error)}`);
      return undefined;
    }
  };
  for (let i = 0; i < cases && failures.length < 10; i++) {
    const random = new Random(seed + i);
    const { handle, scribble, others } = damaged(random);
    const before = others?.();
    const given = handle as unknown as LimiterHandle<'token-bucket'> &
      LimiterHandle<'leaky-bucket'>;
    const bucket = attempt(`case ${i} of ${seed}, attach`, () => {
      const how = random.below(3);
      return how === 0
        ? TokenBucket.attach(given)
        : how === 1
          ? LeakyBucket.attach(given)
          : attach<'token-bucket' | 'leaky-bucket'>(given);
    });
    if (bucket !== undefined) attached++;
    for (let calls = 0; bucket !== undefined && calls < 8; calls++) {
      attempt(`case ${i} of ${seed}, call ${calls}`, () => {
        if (!call(random, bucket)) throw new Error('returned something else');
      });
      if (random.below(2) === 0) scribble();
    }
    if (before !== undefined && others?.().equals(before) === false) {
      failures.push(`case ${i} of ${seed}: wrote outside of its limiter`);
    }
    Atomics.store(at, me, i + 1);
    if (i % 100 === 0) Atomics.notify(at, me);
  }
  return { attached, thrown, failures };
});
