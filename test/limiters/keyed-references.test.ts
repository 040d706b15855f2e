import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  type Decision,
  type KernelName,
  KeyedFixedWindow,
  KeyedLimitSet,
  KeyedTokenBucket,
  LimitSet,
  ManualClock,
  REFUSED,
  type Reservation,
} from '../../src/index.ts';
import { type Taken, toNumber } from '../oracle/calls.ts';
import type { Limit } from '../oracle/contents.ts';
import { type KeyCalls, type Keys, OneSet, SetKeys, TierKeys } from '../oracle/keys.ts';
import { LimitSetOracle, type RateLimit } from '../oracle/limit-set.ts';
import { expectClose, expectSame } from '../support/quick.ts';
import { part } from '../support/random.ts';
import type { Rational } from '../support/rational.ts';

type Key = string | number | bigint;
type Table = KeyedTokenBucket | KeyedLimitSet | KeyedFixedWindow | LimitSet;

interface Kind {
  readonly name: string;
  /** Between which nothing is rounded; those after the first are of tiers, unless keys have all. */
  readonly limits: readonly Limit[];
  readonly tiers: readonly (string | undefined)[];
  readonly make: (limits: readonly Limit[], options: Options) => Table;
  readonly change: (table: Table, limits: readonly Limit[]) => void;
  readonly oracle: (limits: readonly Limit[], nowUs: () => number) => Keys<Key>;
  readonly keys: readonly [Key, ...Key[]];
  readonly capacity: number;
  /** A smaller capacity, with which keys are forgotten while the clock steps back. */
  readonly forgetful?: number;
  /** How far rates may drift from the first ones, and be apart. */
  readonly furthest?: number;
  readonly mostApart?: number;
  /** Whether a limit may be 0. */
  readonly pauses?: boolean;
  readonly acts: readonly Name[];
}
type Options = Readonly<{ capacity: number; clock: ManualClock; kernel: KernelName }>;

const CALLS = ['tryConsume', 'tryConsume', 'consumeOrDrain', 'decide', 'charge'] as const;
const ENDS = ['block', 'reset'] as const;
const WAITS = ['acquire', 'reserve', 'reserve', 'cancel', 'returnTokens', 'returnTokens'] as const;
type Name = (typeof CALLS | typeof ENDS | typeof WAITS)[number] | 'reconfigure' | 'waitSync';

const FEW_KEYS = ['a', 'a', 'a', 'b', 1, 2n, ''] as const;
/** More keys than the table's capacity, so that entries are constantly reclaimed. */
const MANY_KEYS = [
  ...(['', '1', 1, 1n, '__proto__', 'a', 'b', 'c', -1, 2n ** 70n, '\ud800', '\ud801'] as const),
] as const;

function every(tokenUs: number, burst: number): RateLimit {
  return { rate: 1e6 / tokenUs, burst };
}

/** The options of a table, or a change, with all of these tiers. */
function tiered(limits: readonly Limit[]) {
  const [own, pro, free, slow] = limits as readonly [RateLimit, RateLimit, RateLimit, RateLimit];
  return { ...own, tiers: { pro, free, slow } };
}

function several(limits: readonly Limit[]) {
  return { limits: limits as readonly [RateLimit, ...RateLimit[]] };
}

const WINDOW_MS = 4;

function perWindow(limit: number): Limit {
  return { quantum: limit, fillIntervalMs: WINDOW_MS, burst: limit };
}

function windows([own, pro]: readonly Limit[]) {
  return { limit: own?.burst ?? 1, tiers: { pro: { limit: pro?.burst ?? 1 } } };
}

const KINDS: readonly Kind[] = [
  {
    name: 'KeyedTokenBucket',
    limits: [every(250, 4)],
    tiers: [undefined],
    make: ([limit], options) => KeyedTokenBucket.create({ ...(limit as RateLimit), ...options }),
    change: (table, [limit]) => (table as KeyedTokenBucket).reconfigure(limit as RateLimit),
    oracle: (limits, nowUs) => new TierKeys(limits, nowUs),
    ...{ keys: MANY_KEYS, capacity: 7, forgetful: 7, furthest: 16 },
    acts: [...CALLS, ...WAITS, ...ENDS, 'reconfigure'],
  },
  {
    name: 'KeyedTokenBucket with tiers',
    limits: [every(256, 4), every(64, 40), every(1024, 2), every(4096, 16)],
    tiers: [undefined, 'pro', 'free', 'slow'],
    make: (limits, options) =>
      KeyedTokenBucket.create({ ...tiered(limits), ...options, whenFull: 'refuse' }),
    change: (table, limits) => (table as KeyedTokenBucket).reconfigure(tiered(limits)),
    oracle: (limits, nowUs) => new TierKeys(limits, nowUs),
    ...{ keys: FEW_KEYS, capacity: 20, forgetful: 1, furthest: 16, mostApart: 64 },
    acts: [...CALLS, ...WAITS, ...ENDS, 'reconfigure'],
  },
  {
    name: 'KeyedLimitSet',
    limits: [every(256, 4), every(64, 12), every(1024, 20)],
    tiers: [undefined],
    make: (limits, options) =>
      KeyedLimitSet.create({ ...several(limits), ...options, whenFull: 'refuse' }),
    change: (table, limits) => (table as KeyedLimitSet).reconfigure(several(limits)),
    oracle: (limits, nowUs) => new SetKeys(limits as readonly RateLimit[], nowUs),
    ...{ keys: FEW_KEYS, capacity: 20, forgetful: 1, furthest: 4, pauses: true },
    acts: [...CALLS, ...WAITS, ...ENDS, 'reconfigure'],
  },
  {
    name: 'LimitSet, as a table of one key',
    limits: [
      ...[every(256, 4), every(64, 12), every(1024, 20), every(512, 6)],
      ...[every(128, 40), every(2048, 16), every(256, 8), every(32, 5)],
    ],
    tiers: [undefined],
    make: (limits, { capacity: _, ...options }) =>
      LimitSet.create({ ...several(limits), ...options }),
    change: (table, limits) => (table as LimitSet).reconfigure(several(limits)),
    oracle: (limits, nowUs) => new OneSet(limits as readonly RateLimit[], nowUs),
    ...{ keys: ['a'], capacity: 1, furthest: 4, pauses: true },
    acts: [...CALLS, ...WAITS, 'reconfigure'],
  },
  {
    name: 'KeyedFixedWindow',
    limits: [perWindow(4), perWindow(10)],
    tiers: [undefined, 'pro'],
    make: (limits, options) =>
      KeyedFixedWindow.create({ ...windows(limits), intervalMs: WINDOW_MS, ...options }),
    change: (table, limits) => (table as KeyedFixedWindow).reconfigure(windows(limits)),
    oracle: (limits, nowUs) => new TierKeys(limits, nowUs),
    ...{ keys: MANY_KEYS, capacity: 7 },
    acts: [...CALLS, ...ENDS, 'waitSync', 'reconfigure'],
  },
];

/** The calls of a table for one key. */
interface KeyLimiter {
  tryConsume(n: number): boolean;
  acquire(n: number, maxWaitMs: number): number;
  consumeOrDrain(n: number): number;
  reserve(n: number, options: { maxWaitMs: number }): Reservation | undefined;
  waitSync(n: number, options: { timeoutMs: number }): boolean;
  returnTokens(n: number): void;
  decide(n: number): Decision;
  charge(n: number): number;
  block(ms: number): boolean;
  reset(): void;
  available(): number;
  balance(): number;
  timeUntil(n: number): number;
}

/** Every call of a table names the key, and its options the tier. */
function callsOf(table: Table, key: Key, tier: string | undefined): KeyLimiter {
  const methods = table as unknown as Record<string, (...args: unknown[]) => unknown>;
  const named = table instanceof LimitSet ? [] : [key];
  const get = (_: object, name: string) => {
    return (...args: unknown[]) => {
      const isOfAll = tier === undefined || name === 'block' || name === 'reset';
      const given = typeof args.at(-1) === 'object' ? (args.pop() as object) : {};
      return methods[name]?.(...named, ...args, isOfAll ? given : { ...given, tier });
    };
  };
  return new Proxy({}, { get }) as KeyLimiter; // the methods of a table
}

function inMs(us: Rational | undefined): number {
  return toNumber(us) / 1000;
}

const speed = fc.constantFrom(0.5, 1, 2);
function scriptFor({ acts, keys, tiers, limits }: Kind) {
  const change = fc.record({
    /** All rates change by one factor, or each by its own. */
    factors: fc.oneof(
      speed.map((one) => limits.map(() => one)),
      fc.tuple(...limits.map(() => speed)),
    ),
    /** The limit that is paused; mostly none. */
    paused: fc.nat(15),
    bursts: fc.tuple(...limits.map(({ burst }) => fc.constantFrom(burst, burst * 2, burst / 2))),
  });
  const act = fc.record({
    act: fc.constantFrom(...acts),
    key: fc.constantFrom(...keys),
    tier: fc.nat(tiers.length - 1),
    n: fc.oneof(fc.nat(4), fc.nat(Math.max(...limits.map(({ burst }) => burst)) + 10)),
    waitUs: fc.constantFrom(0, 256, 600, 4096, Number.POSITIVE_INFINITY),
    change,
    moveUs: fc.oneof(fc.constantFrom(0, 0, 250, 256, 1024, 8192, 131_072), fc.nat(700)),
  });
  return fc.array(act, { maxLength: 60, size: 'max' });
}
type Act = ReturnType<typeof scriptFor> extends fc.Arbitrary<(infer One)[]> ? One : never;

/** The limits after a change. */
function changed(kind: Kind, { factors, bursts }: Act['change'], inForce: readonly Limit[]) {
  const { limits, furthest = 1, mostApart = Number.POSITIVE_INFINITY } = kind;
  const next = inForce.map((before, i): Limit => {
    if ('quantum' in before) return perWindow(bursts[i] ?? before.burst);
    const rate = before.rate / (factors[i] ?? 1);
    const drift = Math.abs(Math.log2(rate / (limits[i] as RateLimit).rate));
    return {
      rate: drift <= Math.log2(furthest) ? rate : before.rate,
      burst: bursts[i] ?? before.burst,
    };
  });
  const rates = next.map((limit) => ('rate' in limit ? limit.rate : 1));
  return Math.max(...rates) <= mostApart * Math.min(...rates) ? next : inForce;
}

/** A table and the oracle, side by side. */
class Walk {
  readonly #kind: Kind;
  readonly #clock = ManualClock.create();
  readonly #table: Table;
  readonly #exact: Keys<Key>;
  #limits: readonly Limit[];
  #held: { readonly key: Key; readonly reservation: Reservation; readonly taken: Taken }[] = [];

  constructor(kind: Kind, kernel: KernelName) {
    this.#kind = kind;
    this.#limits = kind.limits;
    this.#table = kind.make(kind.limits, { capacity: kind.capacity, kernel, clock: this.#clock });
    this.#exact = kind.oracle(kind.limits, () => Math.round(this.#clock.now()));
  }

  step({ act, key, tier, n, waitUs, change, moveUs }: Act): void {
    this.#clock.advance(moveUs / 1000);
    const ours = callsOf(this.#table, key, this.#kind.tiers[tier]);
    const exact = this.#exact.of(key, tier);
    if (act === 'reconfigure') this.#change(change);
    else if (act === 'cancel') this.#cancel();
    else this.#call(act, n, waitUs, ours, exact, key);
    this.#checkDue();
    const balance = exact.balance().toNumber();
    if (this.#table instanceof KeyedFixedWindow) expectSame(ours.available(), Math.max(0, balance));
    else this.#expectNear(ours.balance(), balance);
    this.#expectNear(ours.timeUntil(2), inMs(exact.retryUs(2)));
  }

  /** With tiers, to one in a million: each change of tier multiplies what the last has rounded. */
  #expectNear(answer: number, expected: number, digits?: number): void {
    const apart = this.#kind.mostApart === undefined ? 0 : 1e-6 * Math.abs(expected);
    if (Math.abs(answer - expected) > apart) expectClose(answer, expected, digits);
  }

  #call(act: Name, n: number, waitUs: number, ours: KeyLimiter, exact: KeyCalls, key: Key): void {
    // In several limits, a key without a bucket has none to fill.
    const fills = act === 'reset' || act === 'returnTokens';
    if (fills && exact instanceof LimitSetOracle && exact.acquire(1) !== undefined) {
      expectSame(ours.tryConsume(1), true);
    }
    if (act === 'tryConsume') expectSame(ours.tryConsume(n), exact.acquire(n) !== undefined);
    else if (act === 'consumeOrDrain') expectSame(ours.consumeOrDrain(n), exact.drain(n));
    else if (act === 'charge') this.#expectNear(ours.charge(n), exact.charge(n) / 1000);
    else if (act === 'decide') this.#decide(n, ours, exact);
    else if (act === 'reset') {
      ours.reset();
      exact.reset();
    } else if (act === 'block') {
      expectSame(ours.block(n / 8), true);
      exact.block(n * 125);
    } else if (act === 'returnTokens') {
      ours.returnTokens(n);
      exact.putBack(n);
    } else if (n > exact.burst) {
      if (act === 'acquire') {
        expect(() => ours.acquire(n, waitUs / 1000)).toThrow(/^n must be at most /);
      }
    } else if (act === 'acquire') {
      const taken = exact.acquire(n, waitUs);
      const answer = ours.acquire(n, waitUs / 1000);
      this.#expectNear(answer, taken === undefined ? REFUSED : inMs(taken.waitUs));
    } else if (act === 'waitSync') {
      expectSame(ours.waitSync(n, { timeoutMs: 0 }), exact.acquire(n) !== undefined);
    } else {
      const reservation = ours.reserve(n, { maxWaitMs: waitUs / 1000 });
      const taken = exact.acquire(n, waitUs);
      this.#expectNear(reservation?.waitMs ?? -1, taken === undefined ? -1 : inMs(taken.waitUs));
      if (reservation && taken) this.#held.push({ key, reservation, taken });
    }
  }

  #decide(n: number, ours: KeyLimiter, exact: KeyCalls): void {
    const isPromised = exact instanceof LimitSetOracle && exact.isPromised;
    const waitsUs = exact instanceof LimitSetOracle ? exact.waitsUs(n) : [];
    const { allowed, retryUs, fullUs, balance } = exact.decide(n);
    const { retryAfterMs, resetMs, nextTokenMs, limits, ...decision } = ours.decide(n);
    const remaining = Math.max(0, Math.floor(balance));
    expect(decision).toEqual({ allowed, limit: exact.burst, remaining });
    this.#expectNear(retryAfterMs, retryUs / 1000);
    this.#expectNear(resetMs, fullUs / 1000);
    if (!(exact instanceof LimitSetOracle)) {
      this.#expectNear(nextTokenMs, inMs(exact.waitUs(remaining + 1)));
      return;
    }
    expect(limits).toHaveLength(this.#limits.length);
    const fullsUs = exact.fullsUs();
    for (const [i, each] of exact.balances().entries()) {
      const one = limits?.[i];
      expectSame(one?.limit, this.#limits[i]?.burst);
      expectSame(one?.remaining, Math.max(0, each.floor().toNumber()));
      expectClose(one?.resetMs, inMs(fullsUs[i]));
      if (allowed) expectSame(one?.retryAfterMs, 0);
      else if (!isPromised) expectClose(one?.retryAfterMs, inMs(waitsUs[i]));
    }
  }

  #cancel(): void {
    const last = this.#held.pop();
    if (last === undefined) return;
    // A bucket that is full may have been forgotten, and its reservations with it.
    if (!this.#exact.isFull(last.key)) {
      expectSame(last.reservation.putBack(), last.taken.cancel());
    } else this.#held = this.#held.filter(({ key }) => key !== last.key);
  }

  #change(change: Act['change']): void {
    this.#limits = changed(this.#kind, change, this.#limits);
    const inForce = this.#limits.map((limit, i) =>
      this.#kind.pauses && i === change.paused ? { ...limit, rate: 0 } : limit,
    );
    this.#kind.change(this.#table, inForce);
    this.#exact.reconfigure(inForce);
  }

  /** A table forgets when what was due before a change became due. */
  #checkDue(): void {
    const nowUs = this.#clock.now();
    for (const { reservation, taken } of this.#held) {
      if (taken.waitUs?.toNumber() === 0) continue;
      const us = taken.due();
      const dueUs = us === 'past' ? nowUs : toNumber(us);
      // To the tick, which a debt is rounded to if the tier changes.
      if (dueUs > nowUs) this.#expectNear(reservation.dueUs, dueUs, 1);
      else if (reservation.dueUs > nowUs) expect(reservation.dueUs).toBeLessThanOrEqual(nowUs);
    }
  }
}

const RUNS = { numRuns: part(1000) };
/** That both targets do the same is checked elsewhere. */
const KERNEL = fc.constantFrom<KernelName>('wasm', 'atomics');

describe.each(KINDS)('a $name', (kind) => {
  test('answers every call like a map of exact buckets, whatever its limits are changed to', () => {
    const property = fc.property(scriptFor(kind), KERNEL, (acts, kernel) => {
      const walk = new Walk(kind, kernel);
      for (const act of acts) walk.step(act);
    });
    fc.assert(property, RUNS);
  });
});

describe.each(KINDS.filter(({ forgetful }) => forgetful))('a small $name', (kind) => {
  test('admits nothing that a map of exact buckets would not, if it forgets keys and its clock steps back', () => {
    const backs = fc.array(fc.nat(3000));
    let reclaimed = 0;
    const property = fc.property(scriptFor(kind), backs, KERNEL, (acts, steps, kernel) => {
      const clock = ManualClock.create();
      const made = kind.make(kind.limits, { capacity: kind.forgetful ?? 1, clock, kernel });
      if (made instanceof LimitSet) throw new Error('forgets no key');
      const exact = kind.oracle(kind.limits, () => Math.round(clock.now()));
      const isSet = exact instanceof SetKeys;
      let [limits, latestMs] = [kind.limits, 0];
      for (const [i, { act, key, tier, n, waitUs, change, moveUs }] of acts.entries()) {
        clock.set(Math.max(0, clock.nowMs + (moveUs - (steps[i % 7] ?? 0)) / 1000));
        latestMs = Math.max(latestMs, clock.nowMs);
        if (act === 'reconfigure' && !isSet) {
          // A key that was full when it was forgotten would not be full again before that.
          clock.set(latestMs);
          limits = changed(kind, change, limits);
          kind.change(made, limits);
          exact.reconfigure(limits);
        }
        const before = (exact instanceof TierKeys ? exact.held(key)?.tier : undefined) ?? tier;
        // A table that forgot the key cannot know that the clock, set back, shows it in debt.
        if (before !== tier && exact.of(key, before).balance().toNumber() < 0) continue;
        const calls = exact.of(key, tier);
        if (n > calls.burst) continue;
        const maxWaitUs = isSet ? 0 : waitUs;
        const shared = made.stats().shared;
        const isAdmitted = callsOf(made, key, kind.tiers[tier]).acquire(n, maxWaitUs / 1000) >= 0;
        // A call that is refused for want of an entry changes nothing.
        if (!isAdmitted && made.stats().shared > shared) continue;
        // What the table refuses, which knows less, the reference is to refuse too: no wait is below 0.
        expect(calls.acquire(n, isAdmitted ? maxWaitUs : -1) !== undefined).toBe(isAdmitted);
      }
      reclaimed += made.stats().reclaimed;
    });
    fc.assert(property, RUNS);
    expect(reclaimed).toBeGreaterThan(0);
  });
});
