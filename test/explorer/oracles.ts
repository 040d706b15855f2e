import type { Calls, Taken } from '../oracle/calls.ts';
import { toNumber } from '../oracle/calls.ts';
import type { Limit } from '../oracle/contents.ts';
import { type Keys, Places, SetKeys, TierKeys, type WhenFull } from '../oracle/keys.ts';
import { LimitSetOracle, type RateLimit } from '../oracle/limit-set.ts';
import { TokenBucketOracle } from '../oracle/token-bucket.ts';
import { operations, type Reference, type Subject, verdict } from './subject.ts';

// The references of all limiters whose tokens arrive with time: one oracle, called by the operations
// of the scenarios. Instants are counted from that of the scenario.

/** The takes of one thread, which remembers the latest. */
class Thread {
  #taken: Taken | undefined;

  take(calls: Calls, n: number, maxWaitUs = 0): number {
    const taken = calls.acquire(n, maxWaitUs);
    this.#taken = taken ?? this.#taken;
    return calls.waitOf(taken, n);
  }

  readonly cancel = () => this.#taken?.cancel() ?? null;

  readonly due = () => {
    if (this.#taken === undefined || this.#taken.waitUs?.toNumber() === 0) return null;
    const us = this.#taken.due();
    return us === 'past' ? us : `${toNumber(us)}`;
  };
}

/** The operations of a thread on one limiter. The last argument of a call is its instant. */
function oneLimiter(
  calls: Calls,
  at: (us: number) => void,
  reconfigure: (...args: number[]) => void,
): Subject {
  const thread = new Thread();
  const run = <T>(us: number, call: () => T) => {
    at(us);
    return call();
  };
  return operations({
    acquire: (n = 0, maxWaitUs = 0, us = 0) => run(us, () => thread.take(calls, n, maxWaitUs)),
    drain: (n = 0, us = 0) => run(us, () => calls.drain(n)),
    refund: (n = 0, us = 0) => run(us, () => calls.putBack(n)),
    charge: (n = 0, us = 0) => run(us, () => calls.charge(n)),
    balance: (us = 0) => run(us, () => calls.balance().toNumber()),
    decide: (n = 0, us = 0) => run(us, () => verdict(calls.decide(n))),
    timeUntil: (n = 0, us = 0) => run(us, () => `${toNumber(calls.waitUs(n))}`),
    cancel: thread.cancel,
    due: thread.due,
    'take over': () => null,
    reconfigure,
  });
}

/** `setup` is `rate burst initial`. The promises of some buckets are `fixed`: nothing moves them. */
export function bucket(setup: string, isFixed = false): Reference {
  const [rate = 1, burst = 1, initial = burst] = setup.split(' ').map(Number);
  let nowUs = 0;
  const oracle = new TokenBucketOracle({ rate, burst }, initial, () => nowUs, isFixed);
  const at = (us: number) => {
    nowUs = us;
  };
  const change = (rate = 0, burst = 0, us = 0) => {
    at(us);
    oracle.reconfigure({ rate, burst });
  };
  const observe = () => {
    at(0);
    return { balance: oracle.balance().toNumber(), ...oracle.limit };
  };
  return { attach: () => oneLimiter(oracle, at, change), observe };
}

/** `setup` is `initial`, then `rate burst` of each of two limits. */
export function limitSet(setup: string): Reference {
  const [initial = 0, ...numbers] = setup.split(' ').map(Number);
  const [rate = 1, burst = 1, otherRate = 1, otherBurst = 1] = numbers;
  let nowUs = 0;
  const limits = [
    { rate, burst },
    { rate: otherRate, burst: otherBurst },
  ];
  const oracle = new LimitSetOracle(limits, initial, () => nowUs);
  const at = (us: number) => {
    nowUs = us;
  };
  const change = (limit = 0, rate = 0, burst = 0) => {
    at(0);
    oracle.reconfigure(oracle.limits.map((one, i) => (i === limit ? { rate, burst } : one)));
  };
  const observe = () => {
    at(0);
    const balances = oracle.balances().map((one) => one.toNumber());
    return { balances, rates: oracle.limits.map((limit) => limit.rate) };
  };
  return { attach: () => oneLimiter(oracle, at, change), observe };
}

/** A table of a scenario. */
interface Table {
  readonly makeKeys: (nowUs: () => number) => Keys<number>;
  /** When the table was made, and when its keys take the tokens of the setup. */
  readonly madeUs: number;
  readonly takes: readonly { readonly key: number; readonly n: number; readonly atUs: number }[];
  readonly places: number;
  readonly whenFull: WhenFull;
  readonly changes?: Readonly<Record<string, readonly RateLimit[]>>;
  /** What a refund answers. */
  readonly tellsRefunds?: boolean;
  readonly observe: (places: Places) => unknown;
}

/** The operations of a thread on keys: each names its key first, and some a tier last. */
function table(made: Table): Reference {
  let nowUs = made.madeUs;
  const places = new Places(() => made.makeKeys(() => nowUs), made.places, made.whenFull);
  for (const { key, n, atUs } of made.takes) {
    nowUs = atUs;
    places.own.of(key).take(n);
  }
  nowUs = 0;
  const after = <T>(us: number, call: () => T) => {
    nowUs = us;
    const result = call();
    nowUs = 0;
    return result;
  };
  const changes = Object.entries(made.changes ?? {}).map(([name, limits]) => [
    name,
    () => places.reconfigure(limits),
  ]);
  const attach = (): Subject => {
    const thread = new Thread();
    return operations({
      take: (key = 1, n = 1, us = 0, tier = 0) =>
        after(us, () => thread.take(places.of(key, tier), n)),
      'take without a place': (key = 1, n = 1, us = 0) =>
        after(us, () => new Thread().take(places.withoutPlace(key), n)),
      borrow: (key = 1, n = 1) => thread.take(places.of(key), n, 1e9),
      charge: (key = 1, n = 1, tier = 0) => places.of(key, tier).charge(n),
      block(key = 1, us = 0) {
        const hasPlace = places.hasPlace(key);
        if (hasPlace) places.own.of(key).block(us);
        return hasPlace;
      },
      drain: (key = 1, n = 1) => places.of(key).drain(n),
      decide: (key = 1, n = 1) => verdict(places.of(key).decide(n)),
      // Tokens taken without a place are lost: the key's own bucket is full.
      refund(key = 1, n = 1, tier = 0) {
        const moves = places.own.of(key, tier).putBack(n);
        return made.tellsRefunds ? moves : null;
      },
      reset: (key = 1) => places.own.of(key).reset(),
      balance: (key = 1, tier = 0) => places.of(key, tier).balance().toNumber(),
      cancel: thread.cancel,
      due: thread.due,
      recover: () => null,
      ...Object.fromEntries(changes),
    });
  };
  return { attach, observe: () => made.observe(places) };
}

/** Begins the setup of a table of windows. */
export const WINDOWS = 'windows ';
/** A key can have any of the 32 entries from its first home on, or of the 32 from its second. */
const HALF_WINDOW = 32;

/** Number of places for keys that have both homes at the same entry, as all have here. */
function placesOf(capacity: number): number {
  const entries = 2 * capacity;
  return entries > 2 * HALF_WINDOW ? HALF_WINDOW : entries;
}

/**
 * `setup` is `[windows] whenFull capacity keys...`, as for the subject. One token per second with a
 * burst of three; or windows of three seconds, of which now is the end of the first one's.
 */
export function keyed(setup: string): Reference {
  const isWindow = setup.startsWith(WINDOWS);
  const [whenFull, capacity, ...keys] = setup.replace(WINDOWS, '').split(' ');
  const limit: Limit = isWindow
    ? { quantum: 3, fillIntervalMs: 3000, burst: 3 }
    : { rate: 1, burst: 3 };
  return table({
    makeKeys: (nowUs) => new TierKeys([limit], nowUs),
    madeUs: -1e7,
    takes: keys.map((key) => {
      const isLate = key.endsWith('!');
      const atUs = isLate && isWindow ? -5e5 : -2e6;
      return { key: Number.parseInt(key, 10), n: isLate ? 3 : 2, atUs };
    }),
    places: placesOf(Number(capacity)),
    whenFull: whenFull as WhenFull,
    observe: (places) => [1, 2, 3, 4].map((key) => places.of(key).balance().toNumber()),
  });
}

/** The table's own limit, and a tier; and what they change to: all rates by one factor, or one. */
export const TIERS: readonly RateLimit[] = [
  { rate: 1, burst: 3 },
  { rate: 2, burst: 4 },
];
export const TIER_CHANGES = {
  double: [
    { rate: 2, burst: 2 },
    { rate: 4, burst: 6 },
  ],
  tier: [
    { rate: 1, burst: 2 },
    { rate: 4, burst: 4 },
  ],
} as const satisfies Record<string, readonly RateLimit[]>;

/** The keys that the setup names have taken two tokens just now. */
export function tiers(setup: string): Reference {
  const tiersOf = (places: Places, key: number) =>
    [0, 1].map((tier) => places.of(key, tier).balance().toNumber());
  return table({
    makeKeys: (nowUs) => new TierKeys(TIERS, nowUs),
    madeUs: 0,
    takes: setup.split(' ').map((key) => ({ key: Number(key), n: 2, atUs: 0 })),
    ...{ places: 4, whenFull: 'refuse', changes: TIER_CHANGES },
    observe: (places) => [1, 2].flatMap((key) => tiersOf(places, key)),
  });
}

/** The limits of every key, and what they change to: all rates by one factor, one, or a pause. */
export const SET_LIMITS: readonly RateLimit[] = [
  { rate: 1, burst: 3 },
  { rate: 2, burst: 4 },
];
export const SET_CHANGES = {
  double: [
    { rate: 2, burst: 3 },
    { rate: 4, burst: 4 },
  ],
  other: [
    { rate: 1, burst: 3 },
    { rate: 4, burst: 8 },
  ],
  pause: [
    { rate: 0, burst: 3 },
    { rate: 2, burst: 4 },
  ],
} as const satisfies Record<string, readonly RateLimit[]>;
/** How long ago the buckets of the setup were charged. */
export const EARLIER_US = 2e6;

/** `setup` is `whenFull capacity keys...`, as for the subject. */
export function keyedLimitSet(setup: string): Reference {
  const [whenFull, capacity, ...keys] = setup.split(' ');
  const balances = (places: Places, key: number) =>
    places
      .of(key)
      .balances()
      .map((one) => one.toNumber());
  return table({
    makeKeys: (nowUs) => new SetKeys(SET_LIMITS, nowUs),
    madeUs: -10 * EARLIER_US,
    takes: keys
      .filter((one) => one !== 'dead')
      .map((key) => ({
        key: Number.parseInt(key, 10),
        n: key.endsWith('!') ? 3 : 2,
        atUs: -EARLIER_US,
      })),
    places: 2 * Number(capacity),
    whenFull: whenFull as WhenFull,
    ...{ changes: SET_CHANGES, tellsRefunds: true },
    observe: (places) => ({ tokens: [1, 2, 3].map((key) => balances(places, key)), doubled: [] }),
  });
}
