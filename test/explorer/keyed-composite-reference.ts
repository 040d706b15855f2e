import { LATER, NEVER } from '../../src/kernel/bucket/kernel.ts';
import { KeySeveral, type Taken } from '../support/key-several.ts';
import type { TierLimit } from '../support/key-tiers.ts';
import { operations, type Reference, type Subject, verdict } from './subject.ts';

/** The limits of every key: 1/s with a burst of 3, and 2/s with a burst of 4. */
export const LIMITS: readonly TierLimit[] = [
  { tokenUs: 1e6, burst: 3 },
  { tokenUs: 5e5, burst: 4 },
];

/** What the limits change to: all rates by one factor, or only one. */
export const CHANGES = {
  double: [
    { tokenUs: 5e5, burst: 3 },
    { tokenUs: 2.5e5, burst: 4 },
  ],
  other: [
    { tokenUs: 1e6, burst: 3 },
    { tokenUs: 2.5e5, burst: 8 },
  ],
} as const satisfies Record<string, readonly TierLimit[]>;

/** How long ago the buckets of the setup were charged. */
const EARLIER_US = 2e6;

interface Receipt {
  /** Undefined for a key admitted without a bucket. */
  readonly buckets: KeySeveral<number> | undefined;
  readonly taken: Taken<number> | undefined;
}

/** `setup` is `whenFull capacity keys...`, as for the subject. Time is counted from now. */
export function reference(setup: string): Reference {
  const [whenFull, capacity, ...keys] = setup.split(' ');
  const places = 2 * Number(capacity);
  const own = new KeySeveral<number>(LIMITS);
  for (const key of keys.filter((one) => one !== 'dead')) {
    own.acquire(Number.parseInt(key, 10), -EARLIER_US, key.endsWith('!') ? 3 : 2, 0);
  }
  const shared = new KeySeveral<number>(LIMITS);
  const withoutPlace = whenFull === 'share' ? shared : undefined;
  let inForce = LIMITS;
  let before = LIMITS;

  /** A full bucket needs no place and can be replaced by any other. */
  const bucketsOf = (key: number) => {
    const isFull = Math.max(...own.fullUs(key, 0)) <= 0;
    return !isFull || own.notFull(0) < places ? own : withoutPlace;
  };
  const at = (buckets: KeySeveral<number>, key: number) => (buckets === own ? key : 0);
  const nothing = () => inForce.map(({ burst }) => (whenFull === 'admit' ? burst : 0));
  const balancesOf = (key: number) => {
    const buckets = bucketsOf(key);
    return buckets?.balances(at(buckets, key), 0) ?? nothing();
  };
  const take = (
    buckets: KeySeveral<number> | undefined,
    key: number,
    n: number,
    afterUs = 0,
    maxWaitUs = 0,
  ): Receipt | number => {
    if (n > own.burst) return NEVER;
    if (buckets === undefined) {
      return whenFull === 'admit' ? { buckets, taken: undefined } : LATER;
    }
    const taken = buckets.acquire(at(buckets, key), afterUs, n, maxWaitUs);
    return taken === undefined ? LATER : { buckets, taken };
  };
  const waitOf = (outcome: Receipt | number) =>
    typeof outcome === 'number' ? outcome : (outcome.taken?.waitUs ?? 0);
  const change = (name: keyof typeof CHANGES) => {
    before = inForce;
    inForce = CHANGES[name];
    own.change(0, inForce);
    shared.change(0, inForce);
    return null;
  };

  const attach = (): Subject => {
    let receipt: Receipt | undefined;
    const taking = (outcome: Receipt | number) => {
      if (typeof outcome !== 'number') receipt = outcome;
      return waitOf(outcome);
    };
    return operations({
      take: (key = 1, n = 1, afterUs = 0) => taking(take(bucketsOf(key), key, n, afterUs)),
      borrow: (key = 1, n = 1) => taking(take(bucketsOf(key), key, n, 0, 1e9)),
      'take without a place': (key = 1, n = 1, afterUs = 0) =>
        waitOf(take(withoutPlace, key, n, afterUs)),
      'early take': (key = 1, n = 1) => waitOf(take(bucketsOf(key), key, n)),
      'take under the old limits': (key = 1, n = 1) =>
        own.acquireUnder(before, key, 0, n, 0)?.waitUs ?? LATER,
      charge(key = 1, n = 1) {
        const buckets = bucketsOf(key);
        return buckets?.charge(at(buckets, key), 0, n).waitUs ?? 0;
      },
      block(key = 1, us = 0) {
        if (bucketsOf(key) !== own) return false;
        own.block(key, 0, us);
        return true;
      },
      drain(key = 1, n = 1) {
        const buckets = bucketsOf(key);
        if (buckets === undefined) return Math.min(n, ...nothing());
        return buckets.drain(at(buckets, key), 0, n);
      },
      decide(key = 1, n = 1) {
        const buckets = bucketsOf(key);
        const untilUs = buckets?.untilUs(at(buckets, key), 0, n) ?? [0];
        const allowed = waitOf(take(buckets, key, n)) === 0;
        const balance = Math.min(...balancesOf(key));
        const fullUs = Math.max(...(buckets?.fullUs(at(buckets, key), 0) ?? [0]));
        const retryUs = allowed ? 0 : Math.max(...untilUs);
        return verdict({ allowed, balance, retryUs, fullUs });
      },
      // Tokens taken without a place are lost: the key's own bucket is full.
      refund: (key = 1, n = 1) => own.returnTokens(key, 0, n),
      reset: (key = 1) => own.reset(key, 0),
      cancel() {
        const { buckets, taken } = receipt ?? {};
        if (receipt === undefined) return null;
        return taken !== undefined && buckets?.cancel(taken) === true;
      },
      due: () => receipt?.taken?.dueUs ?? null,
      recover: () => null,
      double: () => change('double'),
      other: () => change('other'),
      balance: (key = 1) => Math.min(...balancesOf(key)),
    });
  };

  return { attach, observe: () => ({ tokens: [1, 2, 3].map(balancesOf), doubled: [] }) };
}
