import { RECORD_COUNT } from '../../src/memory/layout.ts';
import { type Calls, type Taken, toNumber } from '../oracle/calls.ts';
import type { Limit } from '../oracle/contents.ts';
import { SetKeys, TierKeys } from '../oracle/keys.ts';
import { LimitSetOracle, type RateLimit } from '../oracle/limit-set.ts';
import { Places, type WhenFull } from '../oracle/places.ts';
import { TokenBucketOracle } from '../oracle/token-bucket.ts';
import { type Operation, operations, type Reference, type Subject, verdict } from './subject.ts';

// The references of all limiters whose tokens arrive with time: one oracle, called by the operations
// of the scenarios. Its instants are counted from that of the calls.

/** The instant of the calls: long after tables were made. */
export const NOW_US = 10_000_000;

/** A bucket or a set without keys. */
export interface NewLimiter {
  readonly kind: 'bucket' | 'limit-set';
  readonly limits: readonly RateLimit[];
  readonly initial: number;
  /** Free configuration records of a bucket. */
  readonly free: number;
}

/** A table, whose keys have taken tokens. */
export interface NewTable {
  readonly kind: TableKind;
  readonly limits: readonly Limit[];
  readonly whenFull: WhenFull;
  readonly capacity: number;
  readonly takes: readonly { readonly key: number; readonly n: number; readonly atUs: number }[];
  /** Whether the process has ended that took them, and the free list has three slots. */
  readonly isDead: boolean;
}

const TWO_LIMITS = [
  { rate: 1, burst: 3 },
  { rate: 2, burst: 4 },
] as const satisfies readonly Limit[];

/**
 * The limits of each kind of table, and what its keys with a `!` have taken. A tier is a limit of its
 * own, a set has all for every key. For windows, now is the end of the first second of one.
 */
const TABLES = {
  keyed: { limits: [{ rate: 1, burst: 3 }], n: 3, atUs: -2e6 },
  windows: { limits: [{ quantum: 3, fillIntervalMs: 3000, burst: 3 }], n: 3, atUs: -5e5 },
  tiers: { limits: TWO_LIMITS, n: 2, atUs: 0 },
  'keyed-limit-set': { limits: TWO_LIMITS, n: 3, atUs: -2e6 },
} as const satisfies Record<string, { limits: readonly Limit[]; n: number; atUs: number }>;
type TableKind = keyof typeof TABLES;

/** What two limits change to: both rates by one factor, one of them, or a pause. */
export const CHANGES = {
  double: [
    { rate: 2, burst: 2 },
    { rate: 4, burst: 6 },
  ],
  other: [
    { rate: 1, burst: 2 },
    { rate: 4, burst: 8 },
  ],
  pause: [
    { rate: 0, burst: 3 },
    { rate: 2, burst: 4 },
  ],
} as const satisfies Record<string, readonly RateLimit[]>;

/** The keys of all scenarios. */
export const KEYS = [1, 2, 3, 4];

/** A key, and in the hundreds its tier. */
export function keyOf(number: number): { readonly key: number; readonly tier: number } {
  return { key: number % 100, tier: Math.floor(number / 100) };
}

/**
 * `setup` is one of
 *
 * - `bucket rate burst initial free`: `free` configuration records are free; threads that have ended
 *   hold the others. With one free record, every second reconfiguration writes the record that was
 *   live when an operation began;
 * - `limit-set initial rate burst rate burst`;
 * - a kind of table, `whenFull capacity keys...`: the buckets of these keys have just become full
 *   again, those of keys with a `!` are not full yet. A table has two entries per key of its capacity.
 *   With `dead` at the end, the process that made these calls has ended.
 */
export function newLimiter(setup: string): NewLimiter | NewTable {
  const [kind = '', ...rest] = setup.split(' ');
  if (kind === 'bucket') {
    const [rate = 1, burst = 1, initial = burst, free = RECORD_COUNT - 1] = rest.map(Number);
    return { kind, limits: [{ rate, burst }], initial, free };
  }
  if (kind === 'limit-set') {
    const [initial = 0, rate = 1, burst = 1, otherRate = 1, otherBurst = 1] = rest.map(Number);
    const other = { rate: otherRate, burst: otherBurst };
    return { kind, limits: [{ rate, burst }, other], initial, free: 0 };
  }
  const table = TABLES[kind as TableKind];
  if (table === undefined) throw new Error(`no limiter is called ${kind}`);
  const { limits, n, atUs } = table;
  const [whenFull, capacity, ...keys] = rest;
  const takes = keys
    .filter((key) => key !== 'dead')
    .map((text) => ({
      key: Number.parseInt(text, 10),
      ...(text.endsWith('!') ? { n, atUs } : { n: 2, atUs: -2e6 }),
    }));
  return {
    ...{ kind: kind as TableKind, limits, takes, isDead: keys.at(-1) === 'dead' },
    ...{ whenFull: whenFull as WhenFull, capacity: Number(capacity) },
  };
}

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

/** The time of an oracle, which stands still but for the calls of a scenario. */
class Time {
  us = 0;

  /** Calls at an instant. */
  at<T>(us: number, call: () => T): T {
    const before = this.us;
    this.us = us;
    const result = call();
    this.us = before;
    return result;
  }
}

/** The calls of a thread, on a limiter or a key. The last argument of most is their instant. */
function callsOf(of: () => Calls, thread: Thread, time: Time) {
  const run = <T>(us: number, call: (calls: Calls) => T) => time.at(us, () => call(of()));
  return {
    acquire: (n = 0, maxWaitUs = 0, us = 0) => run(us, (calls) => thread.take(calls, n, maxWaitUs)),
    drain: (n = 0, us = 0) => run(us, (calls) => calls.drain(n)),
    refund: (n = 0, us = 0) => run(us, (calls) => calls.putBack(n)),
    charge: (n = 0, us = 0) => run(us, (calls) => calls.charge(n)),
    balance: (us = 0) => run(us, (calls) => calls.balance().toNumber()),
    decide: (n = 0, us = 0) => run(us, (calls) => verdict(calls.decide(n))),
    timeUntil: (n = 0, us = 0) => run(us, (calls) => `${toNumber(calls.retryUs(n))}`),
    cancel: thread.cancel,
    due: thread.due,
    'take over': () => null,
    recover: () => null,
  };
}

/** What an observer sees. */
function observed(limits: readonly Limit[], tokens: unknown): unknown {
  const inForce = limits.map((limit) => [
    'rate' in limit ? limit.rate : (limit.quantum / limit.fillIntervalMs) * 1000,
    limit.burst,
  ]);
  return { limits: inForce, tokens, doubled: [] };
}

function balancesOf(calls: Calls): number[] {
  return calls.balances().map((balance) => balance.toNumber());
}

/** `setup` as for {@link newLimiter}. The promises of some buckets are `fixed`: nothing moves them. */
export function reference(setup: string, isFixed = false): Reference {
  const made = newLimiter(setup);
  return 'whenFull' in made ? tableReference(made) : oneReference(made, isFixed);
}

function oneReference({ kind, limits, initial }: NewLimiter, isFixed: boolean): Reference {
  const time = new Time();
  const now = () => time.us;
  const [first = { rate: 1, burst: 1 }] = limits;
  let inForce = limits;
  const bucket = new TokenBucketOracle(first, initial, now, isFixed);
  const set = new LimitSetOracle(limits, initial, now);
  const calls: Calls = kind === 'bucket' ? bucket : set;
  const reconfigure = (limit = 0, rate = 0, burst = 0, us = 0) =>
    time.at(us, () => {
      inForce = inForce.map((one, i) => (i === limit ? { rate, burst } : one));
      if (kind === 'bucket') bucket.reconfigure({ rate, burst });
      else set.reconfigure(inForce);
    });
  return {
    attach: () => operations({ ...callsOf(() => calls, new Thread(), time), reconfigure }),
    observe: () => observed(inForce, balancesOf(calls)),
  };
}

/** A key can have any of the 32 entries from its first home on, or of the 32 from its second. */
const HALF_WINDOW = 32;

/** Number of places for keys that have both homes at the same entry, as all have here. */
function placesOf(capacity: number): number {
  const entries = 2 * capacity;
  return entries > 2 * HALF_WINDOW ? HALF_WINDOW : entries;
}

function tableReference({ kind, limits, whenFull, capacity, takes }: NewTable): Reference {
  const time = new Time();
  const now = () => time.us;
  const isSet = kind === 'keyed-limit-set';
  const makeKeys = () =>
    isSet ? new SetKeys<number>(TWO_LIMITS, now) : new TierKeys<number>(limits, now);
  const places = time.at(-NOW_US, () => new Places(makeKeys, placesOf(capacity), whenFull));
  for (const { key, n, atUs } of takes) time.at(atUs, () => places.own.of(key).take(n));
  let inForce = limits;
  const changes = Object.entries(CHANGES).map(([name, next]) => [
    name,
    () => {
      places.reconfigure(next);
      inForce = next;
    },
  ]);
  const callsOn = (thread: Thread, number: number): Subject => {
    const { key, tier } = keyOf(number);
    return operations({
      ...callsOf(() => places.of(key, tier), thread, time),
      'acquire without a place': (n = 0, maxWaitUs = 0, us = 0) =>
        time.at(us, () => new Thread().take(places.withoutPlace(key), n, maxWaitUs)),
      'drain without a place': (n = 0, us = 0) =>
        time.at(us, () => places.withoutPlace(key).drain(n)),
      // A bucket does not tell whether promises moved, and tokens taken without a place are lost.
      refund: (n = 0, us = 0) => {
        const moves = time.at(us, () => places.own.of(key, tier).putBack(n));
        return isSet ? moves : false;
      },
      block(us = 0) {
        const hasPlace = places.hasPlace(key);
        if (hasPlace) places.own.of(key).block(us);
        return hasPlace;
      },
      reset: () => places.own.of(key).reset(),
      ...Object.fromEntries(changes),
    });
  };
  const attach = (): Subject => {
    const thread = new Thread();
    const run = ([name, number = 1, ...args]: Operation) =>
      callsOn(thread, number).run([name, ...args]);
    return { run };
  };
  const numbers = () =>
    KEYS.flatMap((key) => (isSet ? [key] : limits.map((_, tier) => 100 * tier + key)));
  const tokensOf = (number: number) => {
    const { key, tier } = keyOf(number);
    return balancesOf(places.of(key, tier));
  };
  return { attach, observe: () => observed(inForce, numbers().map(tokensOf)) };
}
