import {
  type Clock,
  type Decision,
  type KernelName,
  type Permit,
  type Region,
  type Reservation,
  Semaphore,
  Sometimes,
} from '../../src/index.ts';
import { createArrivalsCell, openArrivals } from '../../src/kernel/arrivals/host.ts';
import { isTable, KINDS, type Kind, type Subject, takerOf } from './kinds.ts';

/** The number of keys, and of reservations or permits that a neighbour keeps. */
export const KEPT = 7;

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
  readonly stats: boolean;
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

/** All calls that some limiter has. */
export interface Calls {
  tryConsume(n: number): boolean;
  consumeOrDrain(n: number): number;
  decide(n: number): Decision;
  timeUntil(n: number): number;
  available(): number;
  balance(): number;
  charge(n: number): number;
  returnTokens(n: number): unknown;
  acquire(n: number, maxWaitMs: number): number;
  reserve(n: number, options: { maxWaitMs?: number }): Reservation | undefined;
  block(ms: number): boolean;
  reset(): void;
  lease(options: { size: number }): {
    tryConsume(n: number): boolean;
    stock: number;
    release(): number;
  };
}

/** The calls that a limiter of a kind has, and changes and reads of its limit. */
function callsOf({ tier, change }: Kind, one: Subject): Call[] {
  const of = (which: number) => takerOf(one, which, tier) as unknown as Calls;
  const kept: (Reservation | undefined)[] = [];
  // A window counts whole tokens.
  const part = 'balance' in of(0) ? 2 : 1;
  const lease = 'lease' in one && (one as unknown as Calls).lease({ size: 2 });
  const calls: Record<string, Call[]> = {
    tryConsume: [(n, which) => of(which).tryConsume(n), (_, which) => of(which).tryConsume(1)],
    consumeOrDrain: [(n, which) => of(which).consumeOrDrain(n)],
    decide: [(n, which) => of(which).decide(n)],
    timeUntil: [(n, which) => of(which).timeUntil(n)],
    available: [(_, which) => of(which).available()],
    balance: [(_, which) => of(which).balance()],
    charge: [(n, which) => of(which).charge(n / part)],
    returnTokens: [(n, which) => of(which).returnTokens(n)],
    acquire: [(n, which) => of(which).acquire(n, 400)],
    reserve: [
      (n, which) => {
        const reservation = of(which).reserve(n, { maxWaitMs: 900 });
        kept[which] = reservation ?? kept[which];
        return reservation?.waitMs;
      },
      (_, which) => kept[which]?.dueUs,
      (_, which) => kept[which]?.cancel(),
      (n, which) => kept[which]?.settle(n),
    ],
    block: [(n, which) => of(which).block(50 * n)],
    reset: [(_, which) => of(which).reset()],
    lease: lease ? [(n) => [lease.tryConsume(n), lease.stock], () => lease.release()] : [],
  };
  const limit = one as unknown as Record<string, unknown>;
  return [
    ...Object.entries(calls).flatMap(([name, some]) => (name in of(0) ? some : [])),
    ...(change ? [(n: number, which: number) => change(one, n, which)] : []),
    () => ['rate', 'burst', 'limit', 'limits', 'intervalMs'].map((name) => limit[name]),
    // Without races, which are guessed from what an instance knows.
    () => {
      if (one.stats === undefined || isTable(one)) return undefined;
      const { calls, admitted, refused } = one.stats();
      return [calls, admitted, refused];
    },
  ];
}

/** All kinds of what lives in a region. */
export const NEIGHBOURS: readonly NeighbourKind[] = [
  ...KINDS.map(
    (kind): NeighbourKind => ({
      name: kind.name,
      isKeyed: kind.name.startsWith('Keyed') || kind.name === 'allOf',
      create: (home) => choice(callsOf(kind, kind.create({ ...home, limit: 5, refillMs: 500 }))),
    }),
  ),
  {
    name: 'Sometimes',
    create: ({ stats: _, ...home }) => {
      const one = Sometimes.create({ ...home, first: 3, every: 4, intervalMs: 150 });
      return () => one.isDue();
    },
  },
  ...[false, true].map(
    (adapts): NeighbourKind => ({
      name: `Semaphore${adapts ? ' that adapts' : ''}`,
      create: ({ stats: _, ...home }) => {
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
