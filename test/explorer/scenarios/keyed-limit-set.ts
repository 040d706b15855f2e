import { subjectModule } from '../explore.ts';
import type { Operation } from '../subject.ts';
import type { Plan, Shared } from './plan.ts';

export const KEYED_LIMIT_SET_PLANS: readonly Plan[] = [
  {
    subject: 'keyed limit set, key found',
    module: 'token',
    setup: 'keyed-limit-set refuse 1 1!',
    operations: { take: ['acquire', 1, 2], borrow: ['acquire', 1, 3, 1e9] },
    long: {
      drain: ['drain', 1, 2],
      refund: ['refund', 1, 1],
      charge: ['charge', 1, 7],
      block: ['block', 1, 5_000_000],
      reset: ['reset', 1],
      decide: ['decide', 1, 2],
      balance: ['balance', 1],
    },
    inThrees: {},
    followed: ['borrow and cancel', ['acquire', 1, 3, 1e9], ['cancel', 1]],
  },
];

/** Scenarios outside the plan, and changes of the limits. */
export function keyedLimitSets(): Shared[] {
  const base = {
    subject: 'keyed limit set',
    module: subjectModule('token'),
    stops: true,
  };
  const take1: Operation = ['acquire', 1, 2];
  const take2: Operation = ['acquire', 2, 2];
  const changes = ['double', 'other', 'pause'];
  return [
    {
      ...base,
      name: 'insert two keys',
      setup: 'keyed-limit-set refuse 2',
      threads: [[take1], [take2]],
    },
    {
      ...base,
      name: 'insert one key',
      setup: 'keyed-limit-set refuse 2',
      threads: [[take1], [take1]],
    },
    {
      ...base,
      name: 'insert and reclaim',
      setup: 'keyed-limit-set refuse 1 3 2',
      threads: [[take1], [['acquire', 3, 2]]],
    },
    {
      ...base,
      name: 'take and cancel, and reclaim',
      setup: 'keyed-limit-set refuse 1 3 2',
      threads: [[['acquire', 3, 2]], [take1, ['cancel', 1]]],
    },
    {
      ...base,
      name: 'take and give back, and reclaim',
      setup: 'keyed-limit-set refuse 1 3 2',
      threads: [[['acquire', 3, 2]], [take1, ['refund', 1, 2]]],
    },
    {
      ...base,
      name: 'charge a key, and reclaim it',
      setup: 'keyed-limit-set refuse 1 3 2',
      threads: [[['charge', 3, 2]], [take1]],
    },
    {
      ...base,
      name: 'drain, beside a reset and a key that takes the entry',
      setup: 'keyed-limit-set refuse 2 1!',
      threads: [
        [['drain', 1, 3]],
        [
          ['reset', 1],
          ['acquire', 2, 2],
        ],
      ],
    },
    {
      ...base,
      name: 'insert one key and cancel, beside insert it',
      setup: 'keyed-limit-set refuse 1',
      threads: [[take1, ['cancel', 1]], [take1]],
    },
    {
      ...base,
      name: 'recover slots and take, beside takes',
      setup: 'keyed-limit-set refuse 1 1! dead',
      // A recovery takes one slot after another; half of one is no operation of the reference.
      stops: false,
      threads: [
        [['recover'], ['acquire', 2, 1]],
        [
          ['acquire', 1, 1],
          ['acquire', 1, 1],
        ],
      ],
    },
    ...['share', 'refuse'].map((whenFull) => ({
      ...base,
      name: `insert two keys into the last place, ${whenFull}`,
      setup: `keyed-limit-set ${whenFull} 1 3!`,
      // If another call takes the last place, a call may act as one that finds no place.
      instead: { acquire: 'acquire without a place' },
      threads: [[['acquire', 1, 1]], [['acquire', 2, 1]]] satisfies Operation[][],
    })),
    {
      ...base,
      name: 'borrow, and see when it is due after reset, beside reset and take',
      setup: 'keyed-limit-set refuse 1 1!',
      threads: [
        [
          ['acquire', 1, 3, 1e9],
          ['reset', 1],
          ['due', 1],
        ],
        [['reset', 1], take1],
      ],
    },
    ...changes.flatMap((change) => [
      {
        ...base,
        name: `take, and change ${change}, then take`,
        setup: 'keyed-limit-set refuse 1 1!',
        threads: [[['acquire', 1, 1]], [[change], ['acquire', 1, 1]]] satisfies Operation[][],
      },
      {
        ...base,
        name: `insert a key, and change ${change}`,
        setup: 'keyed-limit-set refuse 1',
        threads: [[take1], [[change]]] satisfies Operation[][],
      },
      {
        ...base,
        name: `borrow and see when it is due, beside ${change}`,
        setup: 'keyed-limit-set refuse 1 1!',
        threads: [
          [
            ['acquire', 1, 3, 1e9],
            ['due', 1],
          ],
          [[change]],
        ] satisfies Operation[][],
      },
    ]),
  ];
}
