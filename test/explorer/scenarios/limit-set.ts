import { subjectModule } from '../explore.ts';
import type { Operation } from '../subject.ts';
import { acquire, borrow, cancel, charge, drain, refund, renew, stale } from './operations.ts';
import type { Named, Plan, Shared } from './plan.ts';

export const LIMIT_SET_PLANS: readonly Plan[] = [
  {
    subject: 'limit set',
    module: 'token',
    // 2 tokens under each limit: 1/s up to 3, and 2/s up to 4.
    setup: 'limit-set 2 1 3 2 4',
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
    subject: 'limit set in debt',
    module: 'token',
    setup: 'limit-set 0 1 3 2 4',
    operations: { borrow, charge },
    long: { refund, 'refund 5': ['refund', 5], 'reconfigure the other': ['reconfigure', 1, 4, 2] },
    inThrees: { borrow, drain },
  },
];

/** Scenarios of a limit set outside the plans. */
export function limitSets(): Shared[] {
  return [
    // Two renewals, or one beside a change, take minutes.
    ...Object.entries({ acquire, refund, decide: ['decide', 1] } satisfies Named).map(
      ([name, operation]) => ({
        subject: 'limit set',
        module: subjectModule('token'),
        setup: 'limit-set 2 1 3 2 4',
        stops: true,
        name: `renewing acquire and ${name}`,
        threads: [[renew], [operation]] satisfies Operation[][],
      }),
    ),
    ...(
      [['reconfigure', 0, 4, 8], ['reconfigure', 1, 4, 2], refund, charge] satisfies Operation[]
    ).map((change) => ({
      subject: 'limit set in debt',
      module: subjectModule('token'),
      setup: 'limit-set 0 1 3 2 4',
      stops: true,
      name: `borrow and see when it is due, beside ${change.join(' ')}`,
      threads: [[borrow, ['due']], [change]] satisfies Operation[][],
    })),
    // Beside two changes of the state, the second of which frees the slot that a call looks at.
    ...(
      [
        [
          'acquire and decide beside two charges',
          [acquire, ['decide', 3]],
          [
            ['charge', 1],
            ['charge', 1],
          ],
        ],
        ['decide beside acquire and refund', [['decide', 3]], [acquire, refund]],
      ] satisfies [name: string, Operation[], Operation[]][]
    ).map(([name, ...threads]) => ({
      ...{ subject: 'limit set', module: subjectModule('token') },
      ...{ setup: 'limit-set 2 1 3 2 4', stops: true, name, threads },
    })),
    // A change between a promise and its instant, and then calls after it.
    {
      ...{ subject: 'limit set in debt', module: subjectModule('token') },
      ...{ setup: 'limit-set 0 1 3 2 4', stops: true },
      name: 'borrow and see when it is due, beside a change and a later call',
      threads: [
        [borrow, ['due']],
        [
          ['reconfigure', 0, 4, 8],
          ['acquire', 1, 0, 1_000_000],
        ],
      ],
    },
    // Tokens that come back while others are promised.
    {
      ...{ subject: 'limit set in debt', module: subjectModule('token') },
      ...{ setup: 'limit-set 0 1 3 2 4', stops: true },
      name: 'borrow and see when it is due, beside a return and a borrow',
      threads: [
        [borrow, ['due']],
        [refund, borrow],
      ],
    },
  ];
}
