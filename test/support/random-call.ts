import {
  HandleError,
  type KeyedStats,
  type LimiterHandle,
  type LimiterStats,
  type Permit,
  RateLimitError,
} from '../../src/index.ts';
import type { Calls } from './neighbours.ts';
import type { Random } from './random.ts';

const WHOLE_AMOUNTS = [0, 1, 3, 10, 1e6, 2 ** 53, 1e300] as const;
const AMOUNTS = [0.5, ...WHOLE_AMOUNTS] as const;
const PERMITS = [1, 3, 65_535] as const;
const KEYS = ['', 'a', '\ud800', 7, 8n] as const;

/** A limiter of any class, or the keys of a table. */
interface Any extends Calls {
  waitSync(n: number, options: { timeoutMs: number }): boolean;
  readonly rate: number;
  readonly intervalMs: number;
  readonly limits: readonly object[];
  readonly handle: LimiterHandle;
  stats(): LimiterStats & KeyedStats;
  reconfigure(change: object): void;
  isDue(): boolean;
  tryAcquire(n: number): Permit | undefined;
  acquireSync(n: number, options: { timeoutMs: number }): Permit | undefined;
  inUse(): number;
  readonly waiting: number;
  for(key: string | number | bigint): Any;
}

/** The whole limit: omitted fields would be taken from the current one, which may be damaged. */
const LIMITS: Readonly<Record<string, (one: Any) => object>> = {
  'token-bucket': () => ({ rate: 50, burst: 5 }),
  'leaky-bucket': () => ({ rate: 50, slack: 1 }),
  'limit-set': ({ limits }) => ({ limits: limits.map(() => ({ rate: 50, burst: 5 })) }),
};

type Call = (one: Any, n: number, random: Random) => boolean;

/** Calls that do not block, of whatever has them; each tells whether the result has its type. */
const CALLS: Readonly<Partial<Record<keyof Any, Call>>> = {
  tryConsume: (one, n) => typeof one.tryConsume(n) === 'boolean',
  consumeOrDrain: (one, n) => typeof one.consumeOrDrain(n) === 'number',
  decide: (one, n) => typeof one.decide(n).allowed === 'boolean',
  available: (one) => typeof one.available() === 'number',
  timeUntil: (one, n) => typeof one.timeUntil(n) === 'number',
  waitSync: (one, n) => typeof one.waitSync(n, { timeoutMs: 0 }) === 'boolean',
  acquire: (one, n, random) => typeof one.acquire(n, random.pick([0, 5, Infinity])) === 'number',
  reserve: (one, n) => ['boolean', 'undefined'].includes(typeof one.reserve(n, {})?.cancel()),
  returnTokens: (one, n) => ['number', 'undefined'].includes(typeof one.returnTokens(n)),
  balance: (one) => typeof one.balance() === 'number',
  lease(one, n, random) {
    const lease = one.lease({ size: random.pick([1, 64]) });
    lease.tryConsume(n);
    return typeof lease.release() === 'number';
  },
  reconfigure(one, _, random) {
    const limit = LIMITS[one.handle.zerotime];
    if (limit !== undefined && random.below(8) === 0) one.reconfigure(limit(one));
    return true;
  },
  isDue: (one) => typeof one.isDue() === 'boolean',
  tryAcquire: (one, _, random) => one.tryAcquire(random.pick(PERMITS))?.release() === undefined,
  acquireSync(one, _, random) {
    const permit = one.acquireSync(random.pick(PERMITS), { timeoutMs: 0 });
    return permit?.release() === undefined;
  },
  inUse(one, _, random) {
    one.reconfigure({ permits: random.below(6) });
    return typeof one.inUse() === 'number' && typeof one.waiting === 'number';
  },
  stats(one) {
    const { rate = 0, intervalMs = 0, handle } = one;
    const { calls = 0, entries = 0 } = one.stats();
    const numbers = [rate, intervalMs, handle.nonce, calls, entries];
    return numbers.every((value) => typeof value === 'number');
  },
};

/** Makes one random call, and returns whether the result has the declared type. */
function returnsItsType(random: Random, limiter: Any): boolean {
  const isTable = 'for' in limiter;
  if (isTable && random.below(8) === 0) return CALLS.stats?.(limiter, 0, random) ?? false;
  const one = isTable ? limiter.for(random.pick<string | number | bigint>(KEYS)) : limiter;
  // A semaphore's `acquire` waits.
  const isOwn = (name: string) => name in one && !(name === 'acquire' && 'tryAcquire' in one);
  const calls = Object.entries(CALLS).filter(([name]) => isOwn(name));
  const [, call] = calls[random.below(calls.length)] ?? [];
  const n = random.pick('balance' in one ? AMOUNTS : WHOLE_AMOUNTS);
  return call?.(one, n, random) ?? false;
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
  call(name: string, random: Random, limiter: object): void {
    if (this.make(name, () => returnsItsType(random, limiter as Any)) === false) {
      this.failures.push(`${name}: returned something else than its type says`);
    }
  }
}
