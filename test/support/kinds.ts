import {
  allOf,
  type Clock,
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
  type Reservation,
  SlidingLog,
  SlidingWindow,
  TokenBucket,
} from '../../src/index.ts';
import { WINDOW_KINDS } from './window-kinds.ts';
import type { Promised } from './window-promises.ts';

// Every kind of limiter, in one table: a new one is a line here, and the contract of every limiter, its
// neighbours in a region, `allOf` of any two, the soak, the smoke tests and the bounds of promised tokens
// have it. Its engine's scenes in test/mutants must have it too.

/** Where and how one is made. */
interface Home {
  readonly clock: Clock;
  readonly kernel?: KernelName;
  readonly region?: Region;
  readonly stats?: boolean;
  /** Of a table. By default each key finds a place, whatever its hash, which differs by table. */
  readonly capacity?: number;
}

/** It admits `limit` tokens at once, and again after `refillMs`. */
interface Made extends Home {
  readonly limit: number;
  readonly refillMs: number;
}

export interface Limit {
  readonly rate: number;
  readonly burst: number;
}

export type Limits = readonly [Limit, ...Limit[]];

/** Takes tokens: a limiter, or one key. */
export interface Taker extends Limiter {
  consumeOrDrain?(n: number): number;
  returnTokens?(n: number): unknown;
  reserve?(n: number, options: { maxWaitMs: number }): Reservation | undefined;
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
  /** What it promises for any interval. Default: at most `limit`, and what flows in. */
  readonly promise?: Promised;
  /** Puts another limit in force, drawn by two numbers above 0 and from 0. */
  change?(made: T, n: number, which: number): void;
  /** A tier for some of the keys. */
  readonly tier?: string;
}

const CAPACITY = 64;

/** One whose type is known to its own functions only. */
function kind<T extends Subject>(one: Kind<T>): Kind {
  return one;
}

/** Tokens a second. */
function rateOf({ limit, refillMs }: Made): number {
  return (1000 * limit) / refillMs;
}

/** The second of several limits is what refuses. */
function limitsOf(made: Made, count: number): Limits {
  const [first, ...others] = Array.from({ length: count }, (_, place) => {
    const i = (place + count - 1) % count;
    return { rate: rateOf(made) * (1 + 0.7 * i), burst: made.limit + 2 * i };
  });
  return [first ?? { rate: 1, burst: 1 }, ...others];
}

function homeOf({ limit: _, refillMs: __, ...home }: Made): Home {
  return home;
}

function windowOf({ limit, refillMs, ...home }: Made) {
  return { ...home, limit, intervalMs: refillMs };
}

/** A new leaky bucket has no slack yet; this one behaves as if it had idled. */
function rested<T extends Subject>(one: T): T {
  if (one instanceof LeakyBucket) one.returnTokens(one.slack);
  return one;
}

/** One whose limits are rates and bursts, and which can promise tokens. */
export interface Limited<T extends Subject = Subject> {
  readonly name: string;
  /** How many limits it can have. */
  readonly counts: readonly [number, ...number[]];
  /** Of those, what {@link KINDS} has: all would take too long, in pairs. Default: all. */
  readonly tried?: readonly number[];
  make(limits: Limits, home: Home): T;
  put(one: T, limits: readonly Partial<Limit>[]): void;
  /** The tier that the limit is of. */
  readonly tier?: string;
  /** It has one rate above 0 for all time to come: no pause, and promises do not move. */
  readonly isPlain?: boolean;
}

function limited<T extends Subject>(one: Limited<T>): Limited {
  return one;
}

function paced({ rate, burst }: Partial<Limit>) {
  return { ...(rate !== undefined && { rate }), ...(burst !== undefined && { slack: burst - 1 }) };
}

/** A tier's limit is this many times as fast as the table's own, and this much larger. */
const TIER = { rate: 3, burst: 4 } as const;

const ONE = [1] as const;
const UP_TO_EIGHT = [1, 2, 3, 4, 5, 6, 7, 8] as const;

/** What has rates and bursts; each is a line of {@link KINDS}, for some numbers of limits. */
export const LIMITED: readonly Limited[] = [
  limited({
    name: 'TokenBucket',
    counts: ONE,
    make: ([limit], home) => TokenBucket.create({ ...home, ...limit }),
    put: (one, [limit]) => one.reconfigure(limit ?? {}),
  }),
  limited({
    name: 'LeakyBucket',
    counts: ONE,
    make: ([{ rate, burst }], home) => LeakyBucket.create({ ...home, rate, slack: burst - 1 }),
    put: (one, [limit]) => one.reconfigure(paced(limit ?? {})),
  }),
  limited({
    name: 'LimitSet',
    ...{ counts: UP_TO_EIGHT, tried: [1, 2, 3, 8] },
    make: (limits, home) => LimitSet.create({ ...home, limits }),
    put: (one, limits) => one.reconfigure({ limits }),
  }),
  limited({
    name: 'KeyedLimitSet',
    ...{ counts: UP_TO_EIGHT, tried: [1, 2, 5] },
    make: (limits, home) => KeyedLimitSet.create({ capacity: CAPACITY, ...home, limits }),
    put: (table, limits) => table.reconfigure({ limits }),
  }),
  limited({
    name: 'KeyedTokenBucket',
    ...{ counts: ONE, isPlain: true },
    make: ([limit], home) => KeyedTokenBucket.create({ capacity: CAPACITY, ...home, ...limit }),
    put: (table, [limit]) => table.reconfigure(limit ?? {}),
  }),
  limited({
    name: 'KeyedTokenBucket with a tier',
    ...{ counts: ONE, isPlain: true, tier: 'more' },
    make([more], home) {
      const own = { rate: more.rate / TIER.rate, burst: Math.max(1, more.burst - TIER.burst) };
      return KeyedTokenBucket.create({ capacity: CAPACITY, ...home, ...own, tiers: { more } });
    },
    put: (table, [more]) => table.reconfigure({ tiers: { more: more ?? {} } }),
  }),
];

const RATES = [7, 10, 40, 1000, 0, Number.POSITIVE_INFINITY] as const;

/** Another rate and burst for one of the limits. */
function changesOf({ isPlain }: Limited, count: number, n: number, which: number) {
  const rate = RATES[(which + n) % (isPlain ? 4 : RATES.length)] ?? 10;
  return Array.from({ length: count }, (_, i) =>
    i === which % count ? { rate, burst: 3 + n + i } : {},
  );
}

function kindsOf(one: Limited): Kind[] {
  const { name, counts, tried = counts, tier } = one;
  return tried.map((count) => ({
    name: counts.length > 1 ? `${name} of ${count}` : name,
    ...(tier !== undefined && { tier }),
    create(made) {
      const [first, ...others] = limitsOf(made, count);
      const { rate, burst } = first;
      const limit =
        tier === undefined ? first : { rate: TIER.rate * rate, burst: TIER.burst + burst };
      return rested(one.make([limit, ...others], homeOf(made)));
    },
    change: (subject, n, which) => one.put(subject, changesOf(one, count, n, which)),
  }));
}

export const KINDS: readonly Kind[] = [
  ...LIMITED.flatMap(kindsOf),
  kind({
    name: 'TokenBucket with a quantum',
    promise: 'windows',
    create: ({ limit, refillMs, ...home }) =>
      TokenBucket.create({ ...home, quantum: limit, fillIntervalMs: refillMs, burst: limit }),
    change: (one, n) => one.reconfigure({ quantum: n }),
  }),
  ...WINDOW_KINDS.map(({ name, promise, create }) =>
    kind({
      ...{ name, promise },
      create: (made) => create({ ...windowOf(made), slots: 5, maxLimit: 2 * made.limit }),
      change: (one, n, which) => one.reconfigure({ limit: 2 + n, intervalMs: 100 + 60 * which }),
    }),
  ),
  kind({
    name: 'KeyedFixedWindow',
    promise: 'windows',
    create: (made) => KeyedFixedWindow.create({ ...windowOf(made), capacity: CAPACITY }),
    change: (table, n) => table.reconfigure({ limit: 2 + n }),
  }),
  kind({
    name: 'allOf',
    create(made) {
      const { limit, refillMs } = made;
      const { stats: _, ...home } = homeOf(made);
      const often = rateOf(made) * 100;
      return allOf(
        TokenBucket.create({ ...home, rate: rateOf(made), burst: limit }),
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
