import { LATER } from '../../src/kernel/bucket/kernel.ts';
import { KeyTiers, type TierLimit } from '../support/key-tiers.ts';
import { operations, type Reference, type Subject } from './subject.ts';

/** The table's own limit, and a tier: 1/s with a burst of 3, and 2/s with a burst of 4. */
export const LIMITS: readonly TierLimit[] = [
  { tokenUs: 1e6, burst: 3 },
  { tokenUs: 5e5, burst: 4 },
];

/** What the limits change to: all rates by one factor, or only the tier's. */
export const CHANGES = {
  double: [
    { tokenUs: 5e5, burst: 2 },
    { tokenUs: 2.5e5, burst: 6 },
  ],
  tier: [
    { tokenUs: 1e6, burst: 2 },
    { tokenUs: 2.5e5, burst: 4 },
  ],
} as const satisfies Record<string, readonly TierLimit[]>;

/** The keys that the setup names have taken two tokens just now. Time is counted from now. */
export function reference(setup: string): Reference {
  const exact = new KeyTiers<number>(LIMITS);
  for (const key of setup.split(' ').map(Number)) exact.acquire(key, 0, 2, 0, 0);
  const take = (key: number, n: number, tier: number) => exact.acquire(key, 0, n, 0, tier) ?? LATER;
  const change = (name: keyof typeof CHANGES) => {
    exact.change(0, CHANGES[name]);
    return null;
  };
  const attach = (): Subject =>
    operations({
      take: (key = 1, n = 1, tier = 0) => take(key, n, tier),
      charge: (key = 1, n = 1, tier = 0) => exact.charge(key, 0, n, tier),
      block(key = 1, us = 0) {
        exact.block(key, 0, us);
        return true;
      },
      refund(key = 1, n = 1, tier = 0) {
        exact.returnTokens(key, 0, n, tier);
        return null;
      },
      double: () => change('double'),
      tier: () => change('tier'),
      balance: (key = 1, tier = 0) => exact.balance(key, 0, tier),
    });
  const balances = () => [1, 2].flatMap((key) => [0, 1].map((tier) => exact.balance(key, 0, tier)));
  return { attach, observe: balances };
}
