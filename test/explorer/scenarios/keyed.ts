import { subjectModule } from '../explore.ts';
import type { Operation } from '../subject.ts';
import { type Named, type Plan, played, type Shared } from './plan.ts';

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

/** A key's calls under two limits, the second faster, beside changes of them. */
function tierChanges(): Shared[] {
  const base = { subject: 'keyed, tiers', module: 'token' };
  const list = (texts: Readonly<Record<string, string>>, setup = 'tiers refuse 2 1!') =>
    played({ ...base, setup }, {}, texts);
  const takes = 'acquire 1 1; acquire 101 2';
  const back = 'acquire 101 2; acquire 1 1';
  const refused = 'acquire 101 3';
  const changes = ['double', 'other'];
  const keys = [1, 101];
  return [
    ...list({
      'take under two tiers, both ways': `${takes} | ${back}`,
      'be refused under a tier, beside a refusal under the other': `${refused} | acquire 1 2; acquire 101 1`,
      'be refused under a tier, beside a return': `${refused} | refund 1 1`,
      'be refused under a tier, beside a block': `${refused} | block 1 1e6`,
      'be refused under a tier, beside a change': `${refused} | double; acquire 1 1`,
      'be refused under a tier, beside a reset and a key that takes the entry': `${refused} | reset 1; acquire 2 2`,
      'charge under one tier, take under another': `charge 1 3 | ${takes}`,
      'take under a tier, beside two changes': 'acquire 101 1 | double; other',
    }),
    ...changes.flatMap((change) => [
      ...list({
        [`balance, beside change ${change}, then take`]: `balance 101 | ${change}; acquire 101 1`,
      }),
      ...list(
        { [`give an entry, and change ${change}`]: `acquire 101 2 | ${change}` },
        'tiers refuse 2 2!',
      ),
      ...keys.flatMap((key) =>
        list({
          [`take ${key}, beside change ${change}, then take`]: `acquire ${key} 1 | ${change}; acquire ${key} 1`,
          [`block, beside change ${change}, then charge ${key}`]: `block 1 1e6 | ${change}; charge ${key} 9`,
          [`give back ${key}, beside change ${change}, then charge`]: `refund ${key} 1 | ${change}; charge ${key} 9`,
        }),
      ),
    ]),
    ...keys.flatMap((key) =>
      list({
        [`block, beside give back ${key}`]: `block 1 1e6 | refund ${key} 1`,
        [`block, beside take ${key}`]: `block 1 1e6 | acquire ${key} 1`,
      }),
    ),
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
