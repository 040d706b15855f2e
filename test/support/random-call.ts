import { HandleError, LeakyBucket, RateLimitError, type TokenBucket } from '../../src/index.ts';
import type { Random } from './random.ts';

const AMOUNTS = [0, 0.5, 1, 3, 10, 1e6, 2 ** 53, 1e300] as const;

/** Makes one call of those that do not block, and says whether it returned what its type says. */
function returnsItsType(random: Random, bucket: TokenBucket | LeakyBucket): boolean {
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
      if (random.below(8) > 0) return true;
      // All of a limit, because what is left out is taken from the one in force, which may be damaged.
      if (bucket instanceof LeakyBucket) bucket.reconfigure({ rate: 50, slack: 1 });
      else bucket.reconfigure({ rate: 50, burst: 5 });
      return true;
  }
}

/** Tries things on damaged limiters, and tells throws that are documented from all others. */
export class Attempts {
  /** How often each documented error was thrown. */
  readonly thrown: Record<string, number> = {};
  readonly failures: string[] = [];

  /** Runs `work`; returns undefined where it threw. */
  make<T>(name: string, work: () => T): T | undefined {
    try {
      return work();
    } catch (error) {
      if (error instanceof HandleError || error instanceof RateLimitError) {
        this.thrown[error.code] = (this.thrown[error.code] ?? 0) + 1;
      } else {
        this.failures.push(`${name}: ${error instanceof Error ? error.stack : String(error)}`);
      }
      return undefined;
    }
  }

  /** Makes one random call. */
  call(name: string, random: Random, bucket: TokenBucket | LeakyBucket): void {
    if (this.make(name, () => returnsItsType(random, bucket)) === false) {
      this.failures.push(`${name}: returned something else than its type says`);
    }
  }
}
