import {
  type KernelName,
  KeyedLimitSet,
  KeyedTokenBucket,
  LeakyBucket,
  LimitSet,
  type ManualClock,
  type Reservation,
  TokenBucket,
} from '../../src/index.ts';

// Every limiter that can promise tokens, called and changed in one way.

export interface Limit {
  readonly rate: number;
  readonly burst: number;
}

/** The calls on one limiter, or on one key. */
interface Promising {
  tryConsume(n: number): boolean;
  consumeOrDrain(n: number): number;
  reserve(n: number, options: { maxWaitMs: number }): Reservation | undefined;
  returnTokens(n: number): void;
  charge(n: number): number;
}

export interface Subject {
  readonly limiter: Promising;
  /**
   * A key with one limit has no room to move what is promised, so its returned tokens are for later
   * calls, and it has no pause.
   */
  readonly isPlain?: boolean;
  change(limits: readonly Limit[]): void;
}

export type Make = (
  limits: readonly [Limit, ...Limit[]],
  clock: ManualClock,
  kernel: KernelName,
) => Subject;

const ENOUGH_KEYS = 16;
/** Keys in long debt hold every place of a table of capacity 1, so others share its last entry. */
const PLACES = 2;
const LONG_DEBT = 1e6;

const UP_TO_EIGHT = [1, 2, 3, 4, 5, 6, 7, 8] as const;
const ONE = [1] as const;

/** How each is made, and with how many limits. */
export const PROMISING: Record<string, { make: Make; counts: readonly [number, ...number[]] }> = {
  TokenBucket: {
    counts: ONE,
    make: ([limit], clock, kernel) => {
      const limiter = TokenBucket.create({ ...limit, clock, kernel });
      return { limiter, change: ([next]) => limiter.reconfigure(next as Limit) };
    },
  },
  LeakyBucket: {
    counts: ONE,
    make: ([limit], clock, kernel) => {
      const paced = ({ rate, burst }: Limit) => ({ rate, slack: burst - 1 });
      const limiter = LeakyBucket.create({ ...paced(limit), clock, kernel });
      return { limiter, change: ([next]) => limiter.reconfigure(paced(next as Limit)) };
    },
  },
  LimitSet: {
    counts: UP_TO_EIGHT,
    make: (limits, clock, kernel) => {
      const limiter = LimitSet.create({ limits, clock, kernel });
      return { limiter, change: (next) => limiter.reconfigure({ limits: next }) };
    },
  },
  'key of a KeyedLimitSet': { counts: UP_TO_EIGHT, make: keyedSet(ENOUGH_KEYS) },
  'shared entry of a KeyedLimitSet': { counts: [1, 2, 3], make: keyedSet(1) },
  'key of a KeyedTokenBucket': { counts: ONE, make: keyed(ENOUGH_KEYS) },
  'shared bucket of a KeyedTokenBucket': { counts: ONE, make: keyed(1) },
  'key of a tier': {
    counts: ONE,
    make: ([pro], clock, kernel) => {
      const options = { rate: 3, burst: 4, tiers: { pro }, capacity: ENOUGH_KEYS, clock, kernel };
      const table = KeyedTokenBucket.create(options);
      const limiter = table.for('ann', { tier: 'pro' });
      const change = ([next]: readonly Limit[]) =>
        table.reconfigure({ tiers: { pro: next as Limit } });
      return { limiter, change, isPlain: true };
    },
  },
};

/** A key, or the shared entry, of a table of limit sets. */
function keyedSet(capacity: number): Make {
  return (limits, clock, kernel) => {
    const table = KeyedLimitSet.create({ limits, capacity, clock, kernel });
    for (let i = 0; capacity === 1 && i < PLACES; i++) table.charge(i, LONG_DEBT);
    const change = (next: readonly Limit[]) => table.reconfigure({ limits: next });
    return { limiter: table.for('ann'), change };
  };
}

/** A key, or the shared bucket, of a table with one limit. */
function keyed(capacity: number): Make {
  return ([limit], clock, kernel) => {
    const table = KeyedTokenBucket.create({ ...limit, capacity, clock, kernel });
    for (let i = 0; capacity === 1 && i < PLACES; i++) table.charge(i, LONG_DEBT);
    const change = ([next]: readonly Limit[]) => table.reconfigure(next as Limit);
    return { limiter: table.for('ann'), change, isPlain: true };
  };
}
