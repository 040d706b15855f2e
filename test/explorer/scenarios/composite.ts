import { subjectModule } from '../explore.ts';
import type { Operation } from '../subject.ts';
import { acquire, borrow, cancel, charge, drain, refund, renew, stale } from './operations.ts';
import type { Named, Plan, Shared } from './plan.ts';

export const COMPOSITE_PLANS: readonly Plan[] = [
  {
    subject: 'composite',
    module: 'composite',
    // 2 tokens under each limit: 1/s up to 3, and 2/s up to 4.
    setup: '2 1 3 2 4',
    operations: { acquire, borrow, drain, refund, decide: ['decide', 1] },
    long: {
      'stale acquire': stale,
      'time until': ['timeUntil', 3],
      balance: ['balance'],
      'reconfigure one limit': ['reconfigure', 0, 4, 8],
    },
    inThrees: { acquire, borrow },
    followed: ['borrow and cancel', borrow, cancel],
  },
  {
    subject: 'composite in debt',
    module: 'composite',
    setup: '0 1 3 2 4',
    operations: { borrow, charge },
    long: { refund, 'refund 5': ['refund', 5], 'reconfigure the other': ['reconfigure', 1, 4, 2] },
    inThrees: { borrow, drain },
  },
];

/** Scenarios of a bucket with several limits outside the plans. */
export function composites(): Shared[] {
  return [
    // Two renewals, or one beside a change, take minutes.
    ...Object.entries({ acquire, refund, decide: ['decide', 1] } satisfies Named).map(
      ([name, operation]) => ({
        subject: 'composite',
        module: subjectModule('composite'),
        setup: '2 1 3 2 4',
        stops: true,
        name: `renewing acquire and ${name}`,
        threads: [[renew], [operation]] satisfies Operation[][],
      }),
    ),
    ...(
      [['reconfigure', 0, 4, 8], ['reconfigure', 1, 4, 2], refund, charge] satisfies Operation[]
    ).map((change) => ({
      subject: 'composite in debt',
      module: subjectModule('composite'),
      setup: '0 1 3 2 4',
      stops: true,
      name: `borrow and see when it is due, beside ${change.join(' ')}`,
      threads: [[borrow, ['due']], [change]] satisfies Operation[][],
    })),
  ];
}
