import {
  allOf,
  type Clock,
  FixedWindow,
  type KernelName,
  KeyedFixedWindow,
  KeyedLimitSet,
  type KeyedStats,
  KeyedTokenBucket,
  LeakyBucket,
  type Limiter,
  type LimiterHandle,
  type LimiterStats,
  LimitSet,
  type Region,
  SlidingLog,
  SlidingWindow,
  TokenBucket,
} from '../../src/index.ts';

// Every kind of limiter, in one table: a new one is a line here, and the contract of every limiter, its
// neighbours in a region, `allOf` of any two, and the smoke tests have it.

/** Where and how one is made: it admits `limit` tokens at once, and again after `refillMs`. */
interface Made {
  readonly limit: number;
  readonly refillMs: number;
  readonly clock: Clock;
  readonly kernel: KernelName;
  readonly region?: Region;
  readonly stats?: boolean;
}

/** Takes tokens: a limiter, or one key. */
export interface Taker extends Limiter {
  consumeOrDrain?(n: number): number;
  readonly handle?: LimiterHandle;
  readonly kernelName?: KernelName;
  stats?(): LimiterStats;
}

/** A limiter, or a table with a taker for each key. */
export type Subject = Taker | Table;
interface Table {
  for(key: number, options?: object): Taker;
  stats(): KeyedStats;
  readonly handle: LimiterHandle;
  readonly kernelName: KernelName;
}

export interface Kind<T extends Subject = Subject> {
  readonly name: string;
  create(made: Made): T;
  /** Puts another limit in force, drawn by two numbers above 0 and from 0. */
  change?(made: T, n: number, which: number): void;
  /** A tier for some of the keys. */
  readonly tier?: string;
}

/** Each key finds a place, whatever its hash, which differs from table to table. */
const CAPACITY = 64;

/** One whose type is known to its own functions only. */
function kind<T extends Subject>(one: Kind<T>): Kind {
  return one;
}

/** Tokens a second. */
function rateOf({ limit, refillMs }: Made): number {
  return (1000 * limit) / refillMs;
}

const RATES = [0, 7, 10, 40, 1000, Number.POSITIVE_INFINITY] as const;

function otherRate(which: number): number {
  return RATES[which % RATES.length] ?? 10;
}

/** The second of several limits is what refuses. */
function limitsOf(made: Made, count: number) {
  const [first, ...others] = Array.from({ length: count }, (_, place) => {
    const i = (place + count - 1) % count;
    return { rate: rateOf(made) * (1 + 0.7 * i), burst: made.limit + 2 * i };
  });
  return [first ?? { rate: 1, burst: 1 }, ...others] as const;
}

function changesOf(count: number, n: number, which: number) {
  return {
    limits: Array.from({ length: count }, (_, i) =>
      i === which % count ? { rate: otherRate(which + n), burst: 3 + n + i } : {},
    ),
  };
}

function windowOf({ limit, refillMs, ...home }: Made) {
  return { ...home, limit, intervalMs: refillMs };
}

function otherWindow(n: number, which: number) {
  return { limit: 2 + n, intervalMs: 100 + 60 * which };
}

/** A new leaky bucket has no slack yet; this one behaves as if it had idled. */
function rested(bucket: LeakyBucket): LeakyBucket {
  bucket.returnTokens(bucket.slack);
  return bucket;
}

function bucketOf(made: Made) {
  const { limit, refillMs: _, ...home } = made;
  return { ...home, rate: rateOf(made), burst: limit };
}

export const KINDS: readonly Kind[] = [
  kind({
    name: 'TokenBucket',
    create: (made) => TokenBucket.create(bucketOf(made)),
    change: (one, n, which) => one.reconfigure({ rate: otherRate(which), burst: 3 + n }),
  }),
  kind({
    name: 'TokenBucket with a quantum',
    create: ({ limit, refillMs, ...home }) =>
      TokenBucket.create({ ...home, quantum: limit, fillIntervalMs: refillMs, burst: limit }),
    change: (one, n) => one.reconfigure({ quantum: n }),
  }),
  kind({
    name: 'LeakyBucket',
    create(made) {
      const { burst, ...paced } = bucketOf(made);
      return rested(LeakyBucket.create({ ...paced, slack: burst - 1 }));
    },
    change: (one, n) => one.reconfigure({ rate: 5 * n }),
  }),
  ...[1, 2, 3, 8].map((count) =>
    kind({
      name: `LimitSet of ${count}`,
      create({ limit, refillMs, ...home }) {
        const limits = limitsOf({ limit, refillMs, ...home }, count);
        return LimitSet.create({ ...home, limits });
      },
      change: (one, n, which) => one.reconfigure(changesOf(count, n, which)),
    }),
  ),
  ...[false, true].map((allowDoubleBurst) =>
    kind({
      name: `FixedWindow${allowDoubleBurst ? ' with a double burst' : ''}`,
      create: (made) => FixedWindow.create({ ...windowOf(made), allowDoubleBurst }),
      change: (one, n, which) => one.reconfigure(otherWindow(n, which)),
    }),
  ),
  kind({
    name: 'SlidingWindow',
    create: (made) => SlidingWindow.create({ ...windowOf(made), slots: 5 }),
    change: (one, n, which) => one.reconfigure(otherWindow(n, which)),
  }),
  kind({
    name: 'SlidingLog',
    create: (made) => SlidingLog.create({ ...windowOf(made), maxLimit: 2 * made.limit }),
    change: (one, n, which) => one.reconfigure(otherWindow(n, which)),
  }),
  kind({
    name: 'KeyedTokenBucket',
    create: (made) => KeyedTokenBucket.create({ ...bucketOf(made), capacity: CAPACITY }),
    change: (table, n, which) => table.reconfigure({ rate: 10 + which, burst: 3 + n }),
  }),
  kind({
    name: 'KeyedTokenBucket with a tier',
    tier: 'more',
    create(made) {
      const tiers = { more: { rate: 3 * rateOf(made), burst: made.limit + 4 } };
      return KeyedTokenBucket.create({ ...bucketOf(made), tiers, capacity: CAPACITY });
    },
    change(table, n, which) {
      if (which % 2 > 0) table.reconfigure({ rate: 10 + which, burst: 3 + n });
      else table.reconfigure({ tiers: { more: { burst: 6 + n } } });
    },
  }),
  ...[1, 2, 5].map((count) =>
    kind({
      name: `KeyedLimitSet of ${count}`,
      create({ limit, refillMs, ...home }) {
        const limits = limitsOf({ limit, refillMs, ...home }, count);
        return KeyedLimitSet.create({ ...home, limits, capacity: CAPACITY });
      },
      change: (table, n, which) => table.reconfigure(changesOf(count, n, which)),
    }),
  ),
  kind({
    name: 'KeyedFixedWindow',
    create: (made) => KeyedFixedWindow.create({ ...windowOf(made), capacity: CAPACITY }),
    change: (table, n) => table.reconfigure({ limit: 2 + n }),
  }),
  kind({
    name: 'allOf',
    create(made) {
      const { stats: _, refillMs, limit, ...home } = made;
      const often = rateOf(made) * 100;
      return allOf(
        TokenBucket.create(bucketOf({ ...made, stats: false })),
        LimitSet.create({ ...home, limits: limitsOf(made, 2) }),
        rested(LeakyBucket.create({ ...home, rate: often, slack: 20 * limit - 1 })),
        SlidingWindow.create({ ...home, limit: 20 * limit, intervalMs: refillMs / 10 }),
        SlidingLog.create({ ...home, limit: 10 * limit, intervalMs: refillMs / 25 }),
        KeyedTokenBucket.create({
          ...{ ...home, rate: often, burst: 10 * limit, capacity: CAPACITY },
        }).for('key'),
      );
    },
  }),
];

export function isTable(subject: Subject): subject is Table {
  return 'for' in subject;
}

/** The limiter itself, or a key of a table; half of the keys have the tier, if there is one. */
export function takerOf(subject: Subject, which = 0, tier?: string): Taker {
  if (!isTable(subject)) return subject;
  if (tier === undefined) return subject.for(which);
  return subject.for(which >> 1, which % 2 > 0 ? { tier } : {});
}
