import { LATER, NEVER } from '../../src/kernel/bucket/kernel.ts';
import type {
  LimitSetReference,
  Promised,
  ReferenceLimit,
} from '../support/limit-set-reference.ts';
import { LimitSetReferences } from '../support/limit-set-references.ts';
import { operations, type Reference, type Subject, verdict } from './subject.ts';

/** The limits of every key: 1/s with a burst of 3, and 2/s with a burst of 4. */
export const LIMITS: readonly ReferenceLimit[] = [
  { rate: 1, burst: 3 },
  { rate: 2, burst: 4 },
];

/** What the limits change to: all rates by one factor, only one, or a pause. */
export const CHANGES = {
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
} as const satisfies Record<string, readonly ReferenceLimit[]>;

/** How long ago the buckets of the setup were charged. */
export const EARLIER_US = 2e6;

interface Receipt {
  /** Undefined for a key admitted without a bucket. */
  readonly set: LimitSetReference | undefined;
  readonly taken: Promised | undefined;
  readonly waitUs: number;
}

/** `setup` is `whenFull capacity keys...`, as for the subject. Time is counted from now. */
export function reference(setup: string): Reference {
  const [whenFull, capacity, ...keys] = setup.split(' ');
  const places = 2 * Number(capacity);
  let nowUs = -10 * EARLIER_US;
  const own = new LimitSetReferences<number>(LIMITS, () => nowUs);
  const shared = new LimitSetReferences<number>(LIMITS, () => nowUs);
  nowUs = -EARLIER_US;
  for (const key of keys.filter((one) => one !== 'dead')) {
    own.of(Number.parseInt(key, 10)).take(key.endsWith('!') ? 3 : 2);
  }
  nowUs = 0;
  const withoutPlace = () => (whenFull === 'share' ? shared.of(0) : undefined);
  let inForce = LIMITS;

  /** A full bucket needs no place and can be replaced by any other. */
  const hasPlace = (key: number) => !own.isFull(key) || own.notFull() < places;
  const setOf = (key: number) => (hasPlace(key) ? own.of(key) : withoutPlace());
  const nothing = () => inForce.map(({ burst }) => (whenFull === 'admit' ? burst : 0));
  const balancesOf = (key: number) =>
    setOf(key)
      ?.balances()
      .map((one) => one.toNumber()) ?? nothing();
  const take = (
    set: LimitSetReference | undefined,
    n: number,
    afterUs = 0,
    maxWaitUs = 0,
  ): Receipt | number => {
    if (n > own.burst) return NEVER;
    if (set === undefined) {
      return whenFull === 'admit' ? { set, taken: undefined, waitUs: 0 } : LATER;
    }
    nowUs = afterUs;
    const waitUs = set.waitToTakeUs(n)?.toNumber() ?? Number.POSITIVE_INFINITY;
    const taken = set.acquire(n, maxWaitUs);
    nowUs = 0;
    return taken === undefined ? LATER : { set, taken, waitUs };
  };
  const waitOf = (outcome: Receipt | number) =>
    typeof outcome === 'number' ? outcome : outcome.waitUs;
  const change = (name: keyof typeof CHANGES) => {
    inForce = CHANGES[name];
    own.reconfigure(inForce);
    shared.reconfigure(inForce);
    return null;
  };

  const attach = (): Subject => {
    let receipt: Receipt | undefined;
    const taking = (outcome: Receipt | number) => {
      if (typeof outcome !== 'number') receipt = outcome;
      return waitOf(outcome);
    };
    return operations({
      take: (key = 1, n = 1, afterUs = 0) => taking(take(setOf(key), n, afterUs)),
      borrow: (key = 1, n = 1) => taking(take(setOf(key), n, 0, 1e9)),
      'take without a place': (_key = 1, n = 1, afterUs = 0) =>
        waitOf(take(withoutPlace(), n, afterUs)),
      charge(key = 1, n = 1) {
        const set = setOf(key);
        set?.take(n, true);
        return set?.debtUs().toNumber() ?? 0;
      },
      block(key = 1, us = 0) {
        if (!hasPlace(key)) return false;
        own.of(key).block(us);
        return true;
      },
      drain: (key = 1, n = 1) => setOf(key)?.drain(n) ?? Math.min(n, ...nothing()),
      decide(key = 1, n = 1) {
        const set = setOf(key);
        const retryUs = set?.waitToTakeUs(n)?.toNumber() ?? (set ? Number.POSITIVE_INFINITY : 0);
        const allowed = waitOf(take(set, n)) === 0;
        const balance = Math.min(...balancesOf(key));
        const fulls = set?.fullsUs().map((us) => us?.toNumber() ?? Number.POSITIVE_INFINITY);
        const fullUs = Math.max(...(fulls ?? [0]));
        return verdict({ allowed, balance, retryUs: allowed ? 0 : retryUs, fullUs });
      },
      // Tokens taken without a place are lost: the key's own bucket is full.
      refund: (key = 1, n = 1) => own.of(key).putBack(n),
      reset: (key = 1) => own.of(key).reset() ?? null,
      cancel() {
        if (receipt === undefined) return null;
        const { set, taken } = receipt;
        return taken !== undefined && set?.cancel(taken) === true;
      },
      due() {
        if (receipt?.taken === undefined || receipt.waitUs === 0) return null;
        const { isPast, dueUs } = receipt.taken;
        return isPast ? 'past' : `${dueUs?.toNumber() ?? Number.POSITIVE_INFINITY}`;
      },
      recover: () => null,
      double: () => change('double'),
      other: () => change('other'),
      pause: () => change('pause'),
      balance: (key = 1) => Math.min(...balancesOf(key)),
    });
  };

  return { attach, observe: () => ({ tokens: [1, 2, 3].map(balancesOf), doubled: [] }) };
}
