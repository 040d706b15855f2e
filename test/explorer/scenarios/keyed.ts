import { subjectModule } from '../explore.ts';
import type { Operation } from '../subject.ts';
import type { Named, Plan, Shared } from './plan.ts';

const KEYED = { subject: 'keyed', module: 'token' } as const;

export const KEYED_PLANS: readonly Plan[] = [
  {
    ...KEYED,
    subject: 'keyed, key found',
    setup: 'keyed refuse 2 1',
    operations: {
      take: ['acquire', 1, 2],
      drain: ['drain', 1, 2],
      refund: ['refund', 1, 1],
      charge: ['charge', 1, 7],
      block: ['block', 1, 5_000_000],
      decide: ['decide', 1, 2],
      balance: ['balance', 1],
    },
    inThrees: { take: ['acquire', 1, 2], drain: ['drain', 1, 2], refund: ['refund', 1, 1] },
    followed: ['take and cancel', ['acquire', 1, 2], ['cancel', 1]],
  },
  {
    ...KEYED,
    subject: 'keyed window, key found',
    setup: 'windows refuse 2 1!',
    operations: {
      'take in the next window': ['acquire', 1, 2, 0, 2_000_000],
      charge: ['charge', 1, 4],
      block: ['block', 1, 3_000_000],
      take: ['acquire', 1, 1],
      drain: ['drain', 1, 2],
      decide: ['decide', 1, 2],
      balance: ['balance', 1],
    },
    inThrees: {
      take: ['acquire', 1, 1],
      'take in the next window': ['acquire', 1, 2, 0, 2_000_000],
      drain: ['drain', 1, 2],
    },
    followed: ['take and cancel', ['acquire', 1, 2, 0, 2_000_000], ['cancel', 1]],
  },
  {
    ...KEYED,
    subject: 'keyed window, over',
    setup: 'windows refuse 1 3 4',
    operations: {},
    long: {
      take: ['acquire', 1, 2],
      "another's take": ['acquire', 2, 2],
      drain: ['drain', 1, 2],
      charge: ['charge', 1, 4],
    },
    inThrees: {},
  },
  ...(['share', 'admit'] as const).map((whenFull) => ({
    ...KEYED,
    subject: `keyed, no place, ${whenFull}`,
    setup: `keyed ${whenFull} 1 3! 4!`,
    operations: {
      take: ['acquire', 1, 2],
      "another's take": ['acquire', 2, 2],
      drain: ['drain', 1, 2],
      decide: ['decide', 1, 2],
      balance: ['balance', 1],
    } satisfies Named,
    inThrees: { take: ['acquire', 1, 2], "another's take": ['acquire', 2, 2] } satisfies Named,
  })),
];

/** A key's calls under two limits, beside changes of them. */
function tierChanges(): Shared[] {
  const module = subjectModule('token');
  const base = { subject: 'keyed, tiers', module, setup: 'tiers refuse 2 1!', stops: true };
  const takes: Operation[] = [
    ['acquire', 1, 1],
    ['acquire', 101, 2],
  ];
  const changes = ['double', 'other'];
  return [
    { ...base, name: 'take under two tiers, both ways', threads: [takes, takes.toReversed()] },
    {
      ...base,
      name: 'charge under one tier, take under another',
      threads: [[['charge', 1, 3]], takes],
    },
    ...changes.flatMap((change) =>
      [0, 1].map((tier) => ({
        ...base,
        name: `take under limit ${tier}, and change ${change}, then take`,
        threads: [
          [['acquire', 100 * tier + 1, 1]],
          [[change], ['acquire', 100 * tier + 1, 1]],
        ] as Operation[][],
      })),
    ),
    {
      ...base,
      name: 'take under a tier, beside two changes',
      threads: [[['acquire', 101, 1]], [['double'], ['other']]],
    },
    ...changes.map((change) => ({
      ...base,
      name: `balance of a key, and change ${change} on another thread, then take`,
      threads: [[['balance', 101]], [[change], ['acquire', 101, 1]]] as Operation[][],
    })),
    ...changes.flatMap((change) =>
      [0, 1].flatMap((tier) => [
        {
          ...base,
          name: `block a key, and change ${change} on another thread, then charge limit ${tier}`,
          threads: [
            [['block', 1, 1_000_000]],
            [[change], ['charge', 100 * tier + 1, 9]],
          ] as Operation[][],
        },
        {
          ...base,
          name: `give back under limit ${tier}, and change ${change} on another thread, then charge`,
          threads: [
            [['refund', 100 * tier + 1, 1]],
            [[change], ['charge', 100 * tier + 1, 9]],
          ] as Operation[][],
        },
      ]),
    ),
    ...[0, 1].flatMap((tier) => [
      {
        ...base,
        name: `block a key, and give back under limit ${tier} on another thread`,
        threads: [[['block', 1, 1_000_000]], [['refund', 100 * tier + 1, 1]]] as Operation[][],
      },
      {
        ...base,
        name: `block a key, and take under limit ${tier} on another thread`,
        threads: [[['block', 1, 1_000_000]], [['acquire', 100 * tier + 1, 1]]] as Operation[][],
      },
    ]),
    ...changes.map((change) => ({
      ...base,
      setup: 'tiers refuse 2 2!',
      name: `give an entry, and change ${change}`,
      threads: [[['acquire', 101, 2]], [[change]]] as Operation[][],
    })),
  ];
}

/** Scenarios of keyed limiters outside the plans. */
export function keyed(): Shared[] {
  const keyed = { subject: 'keyed', module: subjectModule('token'), stops: true };
  const take1: Operation = ['acquire', 1, 2];
  const take2: Operation = ['acquire', 2, 2];
  return [
    { ...keyed, name: 'insert two keys', setup: 'keyed refuse 2', threads: [[take1], [take2]] },
    {
      ...keyed,
      name: 'insert and reclaim',
      setup: 'keyed refuse 1 3 4',
      threads: [[take1], [['acquire', 3, 2]]],
    },
    {
      ...keyed,
      name: 'take and cancel, and reclaim',
      setup: 'keyed refuse 1 3 4',
      threads: [[['acquire', 3, 2]], [take1, ['cancel', 1]]],
    },
    {
      ...keyed,
      name: 'take and give back, and reclaim',
      setup: 'keyed refuse 1 3 4',
      threads: [[['acquire', 3, 2]], [take1, ['refund', 1, 2]]],
    },
    {
      ...keyed,
      // Its own amount is not taken again: the reference knows an admission of a bucket that was full
      // since, and is forgotten, if what it holds recurs.
      name: 'take and cancel, beside a return, a key that takes the entry and another take',
      setup: 'keyed refuse 2 1',
      threads: [
        [take1, ['cancel', 1]],
        [
          ['refund', 1, 2],
          ['acquire', 2, 2],
          ['acquire', 1, 3],
        ],
      ],
    },
    {
      ...keyed,
      name: 'insert a key, beside a block of it',
      setup: 'keyed refuse 2',
      threads: [[take1], [['block', 1, 1_000_000]]],
    },
    {
      ...keyed,
      name: 'take, beside a reset and a key that takes the entry',
      setup: 'keyed refuse 2 1',
      threads: [
        [take1],
        [
          ['balance', 1],
          ['reset', 1],
          ['acquire', 2, 2],
        ],
      ],
    },
    ...(
      [
        ['drain', 1, 3],
        ['block', 1, 1_000_000],
      ] as const
    ).map((call) => ({
      ...keyed,
      name: `${call[0]}, beside a reset and a key that takes the entry`,
      setup: 'keyed refuse 2 1!',
      threads: [
        [call],
        [
          ['reset', 1],
          ['acquire', 2, 2],
        ],
      ] as Operation[][],
    })),
    {
      ...keyed,
      name: 'insert one key from two threads',
      setup: 'keyed refuse 2',
      threads: [[take1], [take1]],
    },
    {
      ...keyed,
      name: 'insert one key, twice on two threads',
      setup: 'keyed refuse 2',
      threads: [
        [take1, take1],
        [take1, take1],
      ],
    },
    {
      ...keyed,
      subject: 'keyed, reclaimed',
      name: 'insert one key, beside one that goes',
      setup: 'keyed refuse 2 3',
      threads: [[take1], [take1, ['acquire', 3, 2]]],
    },
    {
      ...keyed,
      // Then both halves of a window are the same 32 entries, and 30 of them are taken.
      name: 'insert one key from two threads, where the window comes by each entry twice',
      setup: `keyed refuse 33 ${Array.from({ length: 30 }, (_, i) => `${i + 3}!`).join(' ')}`,
      threads: [[take1], [take1]],
    },
    ...tierChanges(),
    ...['share', 'refuse'].flatMap((whenFull) => {
      // If another call takes the last place, a call may act as one that finds no place.
      const instead = { acquire: 'acquire without a place', drain: 'drain without a place' };
      const last = { ...keyed, setup: `keyed ${whenFull} 1 3!`, instead };
      return [
        {
          ...last,
          name: `insert one key from two threads into the last place, ${whenFull}`,
          threads: [[take1], [take1]],
        },
        {
          ...last,
          name: `insert two keys into the last place, ${whenFull}`,
          threads: [[take1], [take2]],
        },
        {
          ...last,
          name: `drain a key, beside one that takes the last place, ${whenFull}`,
          threads: [[['drain', 1, 2]], [take2]] satisfies Operation[][],
        },
        {
          ...last,
          name: `look while the last place is taken, ${whenFull}`,
          threads: [[take1], [['balance', 1]]] satisfies Operation[][],
        },
      ];
    }),
  ];
}
