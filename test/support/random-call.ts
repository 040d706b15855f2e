import {
  type FixedWindow,
  HandleError,
  LeakyBucket,
  type LimitSet,
  RateLimitError,
  Semaphore,
  type SlidingLog,
  type SlidingWindow,
  Sometimes,
  TokenBucket,
  WindowLimiter,
} from '../../src/index.ts';
import { KeyedFixedWindow, KeyedLimitSet, KeyedTokenBucket } from '../../src/keyed.ts';
import type { Random } from './random.ts';

const AMOUNTS = [0, 0.5, 1, 3, 10, 1e6, 2 ** 53, 1e300] as const;
const WHOLE_AMOUNTS = [0, 1, 3, 10, 1e6, 2 ** 53, 1e300] as const;
const KEYS: readonly [string, ...(string | number | bigint)[]] = ['', 'a', '\ud800', 7, 8n];

export type AnyLimiter =
  | TokenBucket
  | LeakyBucket
  | FixedWindow
  | SlidingWindow
  | SlidingLog
  | Semaphore
  | Sometimes
  | LimitSet
  | KeyedTokenBucket
  | KeyedLimitSet
  | KeyedFixedWindow;

/** The methods that buckets and windows share. */
type Counting = Exclude<
  AnyLimiter,
  Semaphore | Sometimes | KeyedTokenBucket | KeyedLimitSet | KeyedFixedWindow
>;

function takes(random: Random, limiter: Counting, n: number): boolean {
  switch (random.below(7)) {
    case 0:
      return typeof limiter.tryConsume(n) === 'boolean';
    case 1:
      return typeof limiter.consumeOrDrain(n) === 'number';
    case 2:
      return typeof limiter.decide(n).allowed === 'boolean';
    case 3:
      return typeof limiter.available() === 'number';
    case 4:
      return typeof limiter.timeUntil(n) === 'number';
    case 5:
      return typeof limiter.waitSync(n, { timeoutMs: 0 }) === 'boolean';
    default:
      return typeof limiter.stats().calls === 'number' && typeof limiter.handle.nonce === 'number';
  }
}

function promises(
  random: Random,
  bucket: TokenBucket | LeakyBucket | LimitSet,
  n: number,
): boolean {
  switch (random.below(6)) {
    case 0:
      return typeof bucket.acquire(n, random.pick([0, 5, Number.POSITIVE_INFINITY])) === 'number';
    case 1:
      return ['boolean', 'undefined'].includes(typeof bucket.reserve(n)?.cancel());
    case 2:
      return bucket.returnTokens(n) === undefined;
    case 3:
      return typeof bucket.balance() === 'number' && typeof bucket.rate === 'number';
    case 4: {
      if (bucket instanceof LeakyBucket) return true;
      const lease = bucket.lease({ size: random.pick([1, 64]) });
      lease.tryConsume(n);
      return typeof lease.release() === 'number';
    }
    default:
      if (random.below(8) > 0) return true;
      // The full limit: omitted fields would be taken from the current one, which may be damaged.
      if (bucket instanceof LeakyBucket) bucket.reconfigure({ rate: 50, slack: 1 });
      else if (bucket instanceof TokenBucket) bucket.reconfigure({ rate: 50, burst: 5 });
      else bucket.reconfigure({ limits: [{ rate: 50, burst: 5 }] });
      return true;
  }
}

function keyed(random: Random, table: KeyedTokenBucket | KeyedLimitSet, n: number): boolean {
  const key = random.pick<string | number | bigint>(KEYS);
  switch (random.below(9)) {
    case 0:
      return typeof table.tryConsume(key, n) === 'boolean';
    case 1:
      return typeof table.consumeOrDrain(key, n) === 'number';
    case 2:
      return typeof table.decide(key, n).allowed === 'boolean';
    case 3:
      return typeof table.acquire(key, n, random.pick([0, 5])) === 'number';
    case 4:
      return ['boolean', 'undefined'].includes(typeof table.reserve(key, n)?.cancel());
    case 5:
      return table.returnTokens(key, n) === undefined;
    case 6:
      return typeof table.balance(key) === 'number' && typeof table.timeUntil(key, n) === 'number';
    case 7:
      return typeof table.waitSync(key, n, { timeoutMs: 0 }) === 'boolean';
    default:
      return typeof table.stats().entries === 'number' && typeof table.rate === 'number';
  }
}

function windowed(random: Random, table: KeyedFixedWindow, n: number): boolean {
  const key = random.pick<string | number | bigint>(KEYS);
  switch (random.below(6)) {
    case 0:
      return typeof table.tryConsume(key, n) === 'boolean';
    case 1:
      return typeof table.consumeOrDrain(key, n) === 'number';
    case 2:
      return typeof table.decide(key, n).allowed === 'boolean';
    case 3:
      return (
        typeof table.available(key) === 'number' && typeof table.timeUntil(key, n) === 'number'
      );
    case 4:
      return typeof table.waitSync(key, n, { timeoutMs: 0 }) === 'boolean';
    default:
      return typeof table.stats().entries === 'number' && typeof table.intervalMs === 'number';
  }
}

function permits(random: Random, semaphore: Semaphore): boolean {
  const n = random.pick([1, 3, 65_535]);
  switch (random.below(5)) {
    case 0:
      return semaphore.tryAcquire(n)?.release() === undefined;
    case 1:
      return semaphore.acquireSync(n, { timeoutMs: 0 })?.release() === undefined;
    case 2:
      return typeof semaphore.available() === 'number' && typeof semaphore.waiting === 'number';
    case 3:
      return semaphore.reconfigure({ permits: random.below(6) }) === undefined;
    default:
      return typeof semaphore.stats().calls === 'number' && typeof semaphore.inUse() === 'number';
  }
}

/** Makes one random non-blocking call, and returns whether the result has the declared type. */
function returnsItsType(random: Random, limiter: AnyLimiter): boolean {
  const n = random.pick(AMOUNTS);
  if (limiter instanceof Semaphore) return permits(random, limiter);
  if (limiter instanceof Sometimes) return typeof limiter.isDue() === 'boolean';
  if (limiter instanceof KeyedFixedWindow) {
    return windowed(random, limiter, random.pick(WHOLE_AMOUNTS));
  }
  if (limiter instanceof KeyedTokenBucket || limiter instanceof KeyedLimitSet) {
    return keyed(random, limiter, n);
  }
  if (limiter instanceof WindowLimiter) return takes(random, limiter, random.pick(WHOLE_AMOUNTS));
  return random.below(2) === 0 ? takes(random, limiter, n) : promises(random, limiter, n);
}

/** Runs operations on damaged limiters, and separates documented errors from all others. */
export class Attempts {
  /** How often each documented error was thrown. */
  readonly thrown: Record<string, number> = {};
  readonly failures: string[] = [];

  /** Runs `work`; returns undefined if it threw. */
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
  call(name: string, random: Random, limiter: AnyLimiter): void {
    if (this.make(name, () => returnsItsType(random, limiter)) === false) {
      this.failures.push(`${name}: returned something else than its type says`);
    }
  }
}
