import type { Scenario } from './exploration.ts';
import { pairs, subjectModule, triples } from './explore.ts';
import type { ExploredKernel } from './explored-kernel.ts';
import type { Operation } from './subject.ts';

/** A scenario of the list that is explored completely. */
export interface Listed extends Scenario {
  readonly kernel: ExploredKernel;
  readonly subject: string;
  readonly name: string;
}

/** The scenario's unique title. */
export function title({
  kernel,
  subject,
  name,
}: Pick<Listed, 'kernel' | 'subject' | 'name'>): string {
  return `${kernel} ${subject}: ${name}`;
}

/** A scenario to explore with each kernel. */
type Shared = Omit<Listed, 'kernel'>;

type Named = Readonly<Record<string, Operation>>;

/** How the operations of one subject are combined. */
interface Plan {
  readonly subject: string;
  readonly module: string;
  readonly setup: string;
  /** All pairs: on two threads of one operation each, and in both orders on two threads of two. */
  readonly operations: Named;
  /** Pairs with these are explored only on two threads of one operation each. */
  readonly long?: Named;
  /** All triples of these, on three threads. */
  readonly inThrees: Named;
  /** An operation and one that depends on it, against each pair of others. */
  readonly followed?: readonly [name: string, first: Operation, second: Operation];
  /**
   * The scenarios, by name, in which no thread is stopped: tokens taken by a stopped thread count
   * from when they are found, as documented, which no sequential order can express.
   */
  readonly unstopped?: RegExp;
}

function listed(plan: Plan): Shared[] {
  const { subject, setup, operations, long = {}, inThrees, followed, unstopped = /^$/ } = plan;
  const base = { subject, module: subjectModule(plan.module), setup };
  const list = (name: string, ...threads: Operation[][]): Shared => ({
    ...base,
    name,
    threads,
    stops: !unstopped.test(name),
  });
  return [
    ...pairs({ ...operations, ...long }).map(([name, a, b]) => list(name, [a], [b])),
    ...pairs(operations).map(([name, a, b]) => list(`${name}, both ways`, [a, b], [b, a])),
    ...triples(inThrees).map(([name, ...ops]) => list(name, ...ops.map((one) => [one]))),
    ...(followed === undefined
      ? []
      : [
          list(`${followed[0]}, twice`, [followed[1], followed[2]], [followed[1], followed[2]]),
          ...pairs(operations).map(([name, a, b]) =>
            list(`${followed[0]}, beside ${name}`, [followed[1], followed[2]], [a, b]),
          ),
        ]),
  ];
}

/** A bucket at 1/s that holds 2 of 3 tokens: small enough that operations interfere. */
const BUCKET = { module: 'bucket', setup: '1 3 2' } as const;
const acquire: Operation = ['acquire', 1, 0];
const stale: Operation = ['acquire', 1, 0, -500_000];
const borrow: Operation = ['acquire', 2, 1e9];
const drain: Operation = ['drain', 5];
const refund: Operation = ['refund', 1];
const reconfigure: Operation = ['reconfigure', 4, 8];
const renew: Operation = ['acquire', 1, 0, 2e12];

const take: Operation = ['take', 1];
const takeTwo: Operation = ['take', 2];
const advance: Operation = ['advance', 100];
const windowOperations = {
  take,
  'take 2': takeTwo,
  drain: ['drain', 3],
  'decide 2': ['decide', 2],
  available: ['available'],
  'time until 2': ['timeUntil', 2],
  'time passes': advance,
} satisfies Named;
const inThrees = { take, 'take 2': takeTwo, drain: ['drain', 3], 'time passes': advance } as const;

function windowPlan(kind: string): Plan {
  return {
    subject: kind,
    module: 'window',
    setup: `${kind} 3`,
    operations: windowOperations,
    inThrees,
    ...(kind === 'sliding-log'
      ? { unstopped: /drain.* time passes$/ }
      : { followed: ['take and cancel', take, ['cancel']] }),
  };
}

/** The operations of every bucket, whether or not its limit can change. */
const bucketOperations = {
  acquire,
  'stale acquire': stale,
  borrow,
  drain,
  refund,
  decide: ['decide', 1],
  'time until': ['timeUntil', 3],
  balance: ['balance'],
} satisfies Named;
const bucketPlan = {
  setup: BUCKET.setup,
  inThrees: { acquire, borrow, drain, refund, 'stale acquire': stale },
  followed: ['borrow and cancel', borrow, ['cancel']],
} satisfies Partial<Plan>;

const PLAIN: Plan = {
  ...bucketPlan,
  subject: 'plain bucket',
  module: 'plain',
  operations: bucketOperations,
};

const KEYED = { subject: 'keyed', module: 'keyed' } as const;

const PLANS: readonly Plan[] = [
  {
    ...BUCKET,
    ...bucketPlan,
    subject: 'bucket',
    operations: { ...bucketOperations, reconfigure },
    long: { 'renewing acquire': renew },
  },
  windowPlan('fixed-window'),
  windowPlan('sliding-window'),
  windowPlan('sliding-log'),
  {
    ...KEYED,
    subject: 'keyed, key found',
    setup: 'refuse 2 1',
    operations: {
      take: ['take', 1, 2],
      drain: ['drain', 1, 2],
      refund: ['refund', 1, 1],
      decide: ['decide', 1, 2],
      balance: ['balance', 1],
    },
    inThrees: { take: ['take', 1, 2], drain: ['drain', 1, 2], refund: ['refund', 1, 1] },
    followed: ['take and cancel', ['take', 1, 2], ['cancel', 1]],
  },
  ...(['share', 'admit'] as const).map((whenFull) => ({
    ...KEYED,
    subject: `keyed, no place, ${whenFull}`,
    setup: `${whenFull} 1 3! 4!`,
    operations: {
      take: ['take', 1, 2],
      "another's take": ['take', 2, 2],
      drain: ['drain', 1, 2],
      decide: ['decide', 1, 2],
      balance: ['balance', 1],
    } satisfies Named,
    inThrees: { take: ['take', 1, 2], "another's take": ['take', 2, 2] } satisfies Named,
  })),
];

/** Scenarios outside the plans. */
function others(): Shared[] {
  const bucket = { ...BUCKET, module: subjectModule('bucket'), subject: 'bucket', stops: true };
  const keyed = { subject: 'keyed', module: subjectModule('keyed'), stops: true };
  const sometimes = { subject: 'sometimes', module: subjectModule('sometimes'), stops: true };
  const due: Operation = ['isDue', 100];
  const take1: Operation = ['take', 1, 2];
  const take2: Operation = ['take', 2, 2];
  return [
    {
      ...bucket,
      name: 'acquire, twice, and reconfigure',
      threads: [[acquire], [acquire], [reconfigure]],
    },
    {
      ...bucket,
      name: 'acquire, refund and reconfigure',
      threads: [[acquire], [refund], [reconfigure]],
    },
    {
      ...bucket,
      name: 'acquire, and reconfigure twice',
      threads: [[acquire], [reconfigure], [reconfigure]],
    },
    {
      ...bucket,
      name: 'renewing acquire, twice, and acquire',
      threads: [[renew], [renew], [acquire]],
    },
    {
      ...bucket,
      name: 'renewing acquire, reconfigure and acquire',
      threads: [[renew], [reconfigure], [acquire]],
    },
    {
      subject: 'fixed-window',
      module: subjectModule('window'),
      setup: 'fixed-window 3',
      stops: true,
      name: 'decide 2 beside take 2 and time passes',
      threads: [[['decide', 2]], [takeTwo, advance]],
    },
    { ...keyed, name: 'insert two keys', setup: 'refuse 2', threads: [[take1], [take2]] },
    {
      ...keyed,
      name: 'insert and reclaim',
      setup: 'refuse 1 3 4',
      threads: [[take1], [['take', 3, 2]]],
    },
    {
      ...keyed,
      name: 'take and cancel, and reclaim',
      setup: 'refuse 1 3 4',
      threads: [[['take', 3, 2]], [take1, ['cancel', 1]]],
    },
    {
      ...keyed,
      name: 'take and give back, and reclaim',
      setup: 'refuse 1 3 4',
      threads: [[['take', 3, 2]], [take1, ['refund', 1, 2]]],
    },
    {
      ...keyed,
      name: 'insert one key from two threads',
      setup: 'refuse 2',
      threads: [[take1], [take1]],
    },
    {
      ...keyed,
      name: 'insert one key, twice on two threads',
      setup: 'refuse 2',
      threads: [
        [take1, take1],
        [take1, take1],
      ],
    },
    {
      ...keyed,
      subject: 'keyed, reclaimed',
      name: 'insert one key, beside one that goes',
      setup: 'refuse 2 3',
      threads: [[take1], [take1, ['take', 3, 2]]],
    },
    {
      ...keyed,
      // Then both halves of a window are the same 32 entries, and 30 of them are taken.
      name: 'insert one key from two threads, where the window comes by each entry twice',
      setup: `refuse 33 ${Array.from({ length: 30 }, (_, i) => `${i + 3}!`).join(' ')}`,
      threads: [[take1], [take1]],
    },
    ...['share', 'refuse'].flatMap((whenFull) => {
      // If another call takes the last place, a call may act as one that finds no place.
      const instead = { take: 'take without a place' };
      const last = { ...keyed, setup: `${whenFull} 1 3!`, instead };
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
          name: `look while the last place is taken, ${whenFull}`,
          threads: [[take1], [['balance', 1]]] satisfies Operation[][],
        },
      ];
    }),
    ...[
      ['at most once an interval', '0 0 100'],
      ['the first three', '3 0 0'],
      ['every second', '0 2 0'],
      ['every second, and once an interval', '0 2 100'],
    ].flatMap(([name = '', setup = '']) => [
      { ...sometimes, setup, name: `${name}, three threads`, threads: [[due], [due], [due]] },
      {
        ...sometimes,
        setup,
        name: `${name}, twice on two`,
        threads: [
          [due, due],
          [due, due],
        ],
      },
    ]),
  ];
}

/**
 * Against two reconfigurations, the second of which writes the record that was live at the start.
 */
function reusedRecords(): Shared[] {
  const operations: Named = {
    acquire,
    'acquire 2': ['acquire', 2, 0],
    borrow,
    drain,
    refund,
    decide: ['decide', 2],
    'time until': ['timeUntil', 3],
    balance: ['balance'],
  };
  const twice: Operation[] = [reconfigure, ['reconfigure', 0.5, 1]];
  return Object.entries(operations).map(([name, operation]) => ({
    subject: 'bucket, record used again',
    module: subjectModule('bucket'),
    setup: '1 3 2 1',
    stops: true,
    name: `${name} beside reconfigure and reconfigure`,
    threads: [[operation], twice],
  }));
}

/**
 * Leases of one bucket. A lease takes six of twelve tokens, so that a reconfiguration to three caps
 * what it returns.
 */
function leases(): Shared[] {
  const lease = { subject: 'lease', module: subjectModule('lease'), setup: '12', stops: true };
  const spend: Operation = ['spend', 1];
  const release: Operation = ['release'];
  const cut: Operation = ['reconfigure', 1, 3];
  return [
    {
      name: 'take and give back, twice',
      threads: [
        [spend, release],
        [spend, release],
      ],
    },
    { name: 'reconfigure while a stock is taken', threads: [[spend, release], [cut]] },
    { name: 'reconfigure while a stock is spent', threads: [[spend, spend, release], [cut]] },
  ].map((scenario) => ({ ...lease, ...scenario }));
}

/** The longest come first, so that all cores are busy to the end. */
export const SCENARIOS: readonly Listed[] = [
  ...[...others(), ...leases(), ...reusedRecords(), ...PLANS.flatMap(listed)].flatMap(
    (scenario): Listed[] => [
      { ...scenario, kernel: 'atomics' },
      { ...scenario, kernel: 'wasm' },
    ],
  ),
  // It has no kernel: it uses Atomics on its word.
  ...listed(PLAIN).map((scenario): Listed => ({ ...scenario, kernel: 'atomics' })),
];
