import {
  allOf,
  type Clock,
  FixedWindow,
  type KernelName,
  LeakyBucket,
  type LimiterStats,
  LimitSet,
  type Permit,
  type Region,
  type Reservation,
  Semaphore,
  SlidingLog,
  SlidingWindow,
  Sometimes,
  TokenBucket,
} from '../../src/index.ts';
import { createArrivalsCell, openArrivals } from '../../src/kernel/arrivals/host.ts';
import { KeyedFixedWindow, KeyedLimitSet, KeyedTokenBucket } from '../../src/keyed.ts';

/** The number of keys, and of reservations or permits that a neighbour keeps. */
export const KEPT = 7;
/** Each key finds a place, whatever its hash, which differs from table to table. */
const CAPACITY = 64;

/** What is drawn for one call; the same for a limiter and its twin. */
export interface Draw {
  /** Which of the calls, before it is reduced to their number. */
  readonly call: number;
  readonly n: number;
  /** Below {@link KEPT}. */
  readonly which: number;
}

/** Makes the call that was drawn, and returns its result. */
export type Act = (draw: Draw) => unknown;

/** Where a limiter is made. */
interface Home {
  readonly region: Region;
  readonly kernel: KernelName;
  readonly clock: Clock;
}

export interface NeighbourKind {
  readonly name: string;
  /** Whether its clock may call it: keyed limiters read theirs in the middle of a call. */
  readonly isKeyed?: boolean;
  readonly create: (home: Home) => Act;
}

type Call = (n: number, which: number) => unknown;

function choice(calls: readonly Call[]): Act {
  return ({ call, n, which }) => calls[call % calls.length]?.(n, which);
}

/** The calls that all limiters have. */
interface Common {
  tryConsume(n: number): boolean;
  consumeOrDrain(n: number): number;
  decide(n: number): object;
  timeUntil(n: number): number;
  available(): number;
}

/** Without races, which are guessed from what an instance knows. */
function countsOf(one: { stats(): LimiterStats }): readonly number[] {
  const { calls, admitted, refused } = one.stats();
  return [calls, admitted, refused];
}

function common(of: (which: number) => Common): Call[] {
  return [
    (n, which) => of(which).tryConsume(n),
    (_, which) => of(which).tryConsume(1),
    (n, which) => of(which).consumeOrDrain(n),
    (n, which) => of(which).decide(n),
    (n, which) => of(which).timeUntil(n),
    (_, which) => of(which).available(),
  ];
}

interface Charging {
  charge(n: number): number;
}

interface Reserving extends Common, Charging {
  balance(): number;
  returnTokens(n: number): void;
  acquire(n: number, maxWaitMs: number): number;
  reserve(n: number, options: { maxWaitMs: number }): Reservation | undefined;
}

function bucket(of: (which: number) => Reserving): Call[] {
  const kept: (Reservation | undefined)[] = [];
  return [
    ...common(of),
    (_, which) => of(which).balance(),
    (n, which) => of(which).charge(n / 2),
    (n, which) => of(which).returnTokens(n),
    (n, which) => of(which).acquire(n, 400),
    (n, which) => {
      const reservation = of(which).reserve(n, { maxWaitMs: 900 });
      kept[which] = reservation ?? kept[which];
      return reservation?.waitMs;
    },
    (_, which) => kept[which]?.dueUs,
    (_, which) => kept[which]?.cancel(),
    (n, which) => kept[which]?.settle(n),
  ];
}

interface Keyed {
  block(ms: number): boolean;
  reset(): void;
}

function keyed(of: (which: number) => Keyed): Call[] {
  return [(n, which) => of(which).block(50 * n), (_, which) => of(which).reset()];
}

const RATES = [0, 7, 10, 40, 1000, Number.POSITIVE_INFINITY] as const;

function rateOf(which: number): number {
  return RATES[which % RATES.length] ?? 10;
}

function limitsOf(count: number) {
  const [first, ...others] = Array.from({ length: count }, (_, i) => ({
    rate: 10 + 7 * i,
    burst: 5 + 2 * i,
  }));
  return [first ?? { rate: 1, burst: 1 }, ...others] as const;
}

function changesOf(count: number, n: number, which: number) {
  const changed = which % count;
  return Array.from({ length: count }, (_, i) =>
    i === changed ? { rate: rateOf(which + n), burst: 3 + n + i } : {},
  );
}

function limitSet(count: number): NeighbourKind {
  return {
    name: `LimitSet of ${count}`,
    create: (home) => {
      const set = LimitSet.create({ ...home, limits: limitsOf(count), stats: count === 2 });
      const lease = set.lease({ size: 2 });
      return choice([
        ...bucket(() => set),
        (n, which) => set.reconfigure({ limits: changesOf(count, n, which) }),
        () => set.limits,
        (n) => [lease.tryConsume(n), lease.stock],
        () => lease.release(),
      ]);
    },
  };
}

function keyedLimitSet(count: number): NeighbourKind {
  return {
    name: `KeyedLimitSet of ${count}`,
    isKeyed: true,
    create: (home) => {
      const limits = limitsOf(count);
      const table = KeyedLimitSet.create({ ...home, limits, capacity: CAPACITY });
      const of = (which: number) => table.for(which);
      return choice([
        ...bucket(of),
        ...keyed(of),
        (n, which) => table.reconfigure({ limits: changesOf(count, n, which) }),
        () => table.limits,
      ]);
    },
  };
}

const WINDOW = { limit: 5, intervalMs: 300 };

/** All kinds of what lives in a region. */
export const NEIGHBOURS: readonly NeighbourKind[] = [
  {
    name: 'TokenBucket',
    create: (home) => {
      const one = TokenBucket.create({ ...home, rate: 10, burst: 5, stats: true });
      const lease = one.lease({ size: 2 });
      return choice([
        ...bucket(() => one),
        (n, which) => one.reconfigure({ rate: rateOf(which), burst: 3 + n }),
        (n) => [lease.tryConsume(n), lease.stock],
        () => lease.release(),
        () => [one.rate, one.limit, countsOf(one)],
      ]);
    },
  },
  {
    name: 'TokenBucket with a quantum',
    create: (home) => {
      const limit = { quantum: 2, fillIntervalMs: 200, burst: 6 };
      const one = TokenBucket.create({ ...home, ...limit });
      return choice([...bucket(() => one), (n) => one.reconfigure({ quantum: n })]);
    },
  },
  {
    name: 'LeakyBucket',
    create: (home) => {
      const one = LeakyBucket.create({ ...home, rate: 10, slack: 4 });
      return choice([...bucket(() => one), (n) => one.reconfigure({ rate: 5 * n })]);
    },
  },
  ...[1, 2, 3, 8].map(limitSet),
  {
    name: 'KeyedTokenBucket with a tier',
    isKeyed: true,
    create: (home) => {
      const tiers = { more: { rate: 30, burst: 9 } };
      const table = KeyedTokenBucket.create({
        ...home,
        ...{ rate: 10, burst: 5, tiers, capacity: CAPACITY },
      });
      const of = (which: number) => table.for(which >> 1, which % 2 > 0 ? { tier: 'more' } : {});
      return choice([
        ...bucket(of),
        ...keyed(of),
        (n, which) => table.reconfigure({ rate: 10 + which, burst: 3 + n }),
        (n) => table.reconfigure({ tiers: { more: { burst: 6 + n } } }),
        () => [table.rate, table.burst],
      ]);
    },
  },
  ...[1, 2, 5].map(keyedLimitSet),
  ...[false, true].map(
    (allowDoubleBurst): NeighbourKind => ({
      name: `FixedWindow${allowDoubleBurst ? ' with a double burst' : ''}`,
      create: (home) => {
        const one = FixedWindow.create({ ...home, ...WINDOW, allowDoubleBurst, stats: true });
        return choice([
          ...common(() => one),
          (n) => one.returnTokens(n),
          (n, which) => one.reconfigure({ limit: 2 + n, intervalMs: 100 + 60 * which }),
          () => [one.limit, one.intervalMs, countsOf(one)],
        ]);
      },
    }),
  ),
  {
    name: 'SlidingWindow',
    create: (home) => {
      const one = SlidingWindow.create({ ...home, ...WINDOW, slots: 5 });
      return choice([
        ...common(() => one),
        (n) => one.returnTokens(n),
        (n, which) => one.reconfigure({ limit: 2 + n, intervalMs: 100 + 60 * which }),
      ]);
    },
  },
  {
    name: 'SlidingLog',
    create: (home) => {
      const one = SlidingLog.create({ ...home, ...WINDOW, maxLimit: 10 });
      return choice([
        ...common(() => one),
        (n, which) => one.reconfigure({ limit: 2 + n, intervalMs: 100 + 60 * which }),
      ]);
    },
  },
  {
    name: 'KeyedFixedWindow',
    isKeyed: true,
    create: (home) => {
      const table = KeyedFixedWindow.create({ ...home, ...WINDOW, capacity: CAPACITY });
      const of = (which: number) => table.for(which);
      return choice([
        ...common(of),
        ...keyed(of),
        (n, which) => of(which).charge(n),
        (n) => table.reconfigure({ limit: 2 + n }),
      ]);
    },
  },
  {
    name: 'allOf',
    isKeyed: true,
    create: (home) => {
      const limit = { rate: 20, burst: 9 };
      const one = allOf(
        TokenBucket.create({ ...home, rate: 10, burst: 5 }),
        LimitSet.create({ ...home, limits: limitsOf(2) }),
        LeakyBucket.create({ ...home, rate: 1000, slack: 99 }),
        SlidingWindow.create({ ...home, ...WINDOW, limit: 20 }),
        SlidingLog.create({ ...home, ...WINDOW, limit: 30 }),
        KeyedTokenBucket.create({ ...home, ...limit, capacity: CAPACITY }).for('key'),
      );
      return choice([
        (n) => one.tryConsume(n),
        (n) => one.decide(n),
        (n) => one.timeUntil(n),
        () => one.available(),
      ]);
    },
  },
  {
    name: 'Sometimes',
    create: (home) => {
      const one = Sometimes.create({ ...home, first: 3, every: 4, intervalMs: 150 });
      return () => one.isDue();
    },
  },
  ...[false, true].map(
    (adapts): NeighbourKind => ({
      name: `Semaphore${adapts ? ' that adapts' : ''}`,
      create: (home) => {
        const permits = adapts ? { min: 2, max: 12, initial: 6 } : 6;
        const semaphore = Semaphore.create({
          ...{ ...home, permits, maxPermits: 20, holdMs: 5000 },
          ...(adapts && { adapt: 'vegas' as const }),
        });
        const kept: (Permit | undefined)[] = [];
        const release = (which: number, outcome: 'ok' | 'dropped' | 'ignore') => {
          kept[which]?.release({ outcome });
          kept[which] = undefined;
        };
        const take: Call = (n, which) => {
          if (kept[which] === undefined) kept[which] = semaphore.tryAcquire(n);
          return kept[which]?.n;
        };
        return choice([
          ...[take, take, (_: number, which: number) => release(which, 'ok')],
          ...[(_: number, which: number) => release(which, 'ok')],
          (n, which) => release(which, n > 3 ? 'dropped' : 'ignore'),
          (n, which) =>
            semaphore.reconfigure({ permits: adapts ? { min: n, max: n + which } : n + which }),
          () => [semaphore.permits, semaphore.inUse(), semaphore.available(), semaphore.adaptation],
        ]);
      },
    }),
  ),
  {
    name: 'arrivals',
    create: ({ clock, region, kernel }) => {
      const cell = createArrivalsCell({ originUs: clock.now(), smoothingMs: 500 }, region);
      const arrivals = openArrivals(cell, kernel);
      return choice([
        (n) => arrivals.add(clock.now(), n),
        () => arrivals.perSecond(clock.now()),
        () => arrivals.refuse(),
        () => [arrivals.answer(), arrivals.refusals()],
      ]);
    },
  },
];
