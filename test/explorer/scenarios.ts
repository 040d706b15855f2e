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
  /** A pair, by name, with more states than all others: not explored in both orders. */
  readonly oneWay?: string;
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
    ...pairs(operations)
      .filter(([name]) => name !== plan.oneWay)
      .map(([name, a, b]) => list(`${name}, both ways`, [a, b], [b, a])),
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
const charge: Operation = ['charge', 4];
const cancel: Operation = ['cancel'];
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
const windowLimits = {
  'limit 5': ['reconfigure', 5],
  'limit 1, longer': ['reconfigure', 1, 150],
} satisfies Named;
const inThrees = { take, 'take 2': takeTwo, drain: ['drain', 3], 'time passes': advance } as const;

function windowPlan(kind: string): Plan {
  return {
    subject: kind,
    module: 'window',
    setup: `${kind} 3`,
    operations: windowOperations,
    long: windowLimits,
    inThrees,
    ...(kind === 'sliding-log'
      ? { unstopped: /drain.* time passes$/ }
      : { followed: ['take and cancel', take, cancel] }),
  };
}

/** Windows and logs beside changes of their limit, and tokens that return. */
function windowChanges(): Shared[] {
  const module = subjectModule('window');
  const twice: Operation[] = [
    ['reconfigure', 5],
    ['reconfigure', 2, 150],
  ];
  const limits: Operation[] = [
    ['reconfigure', 2],
    ['reconfigure', 1],
  ];
  const kinds = ['fixed-window', 'double-burst', 'sliding-window', 'sliding-log'];
  const returning: Operation[] = [takeTwo, ['return', 2]];
  return [
    ...kinds.flatMap((kind) =>
      [twice, limits].flatMap((changes, at) =>
        Object.entries(windowOperations).map(([name, operation]) => ({
          subject: `${kind}, record used again`,
          module,
          setup: `${kind} 3 1`,
          stops: kind !== 'sliding-log',
          name: `${name} beside ${at === 0 ? 'reconfigure' : 'a limit'}, twice`,
          threads: [[operation], changes],
        })),
      ),
    ),
    ...kinds.map((kind) => ({
      subject: kind,
      module,
      setup: `${kind} 3`,
      stops: kind !== 'sliding-log',
      name: 'take 2 and reconfigure, beside reconfigure',
      threads: [[takeTwo, ['reconfigure', 5]], [['reconfigure', 1, 150]]] satisfies Operation[][],
    })),
    ...['fixed-window', 'sliding-window'].flatMap((kind) => {
      const beside = { ...windowOperations, return: ['return', 1] } satisfies Named;
      const list = (name: string, operations: Operation[]) => ({
        subject: kind,
        module,
        setup: `${kind} 3`,
        stops: true,
        name: `take 2 and return, beside ${name}`,
        threads: [returning, operations],
      });
      return [
        ...pairs(beside).map(([name, a, b]) => list(name, [a, b])),
        ...Object.entries(windowLimits).map(([name, change]) => list(name, [change])),
      ];
    }),
  ];
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
  followed: ['borrow and cancel', borrow, cancel],
} satisfies Partial<Plan>;

const PLAIN: Plan = {
  ...bucketPlan,
  subject: 'plain bucket',
  module: 'plain',
  operations: bucketOperations,
};

const KEYED = { subject: 'keyed', module: 'keyed' } as const;

/** A key's calls under two limits, beside changes of them. */
function tierChanges(): Shared[] {
  const module = subjectModule('tiers');
  const base = { subject: 'keyed, tiers', module, setup: '1', stops: true };
  const takes: Operation[] = [
    ['take', 1, 1],
    ['take', 1, 2, 1],
  ];
  const changes = ['double', 'tier'];
  // A call that overlaps a change may be under the limits before it.
  const instead = {
    'early take': 'take under the old limits',
    ...Object.fromEntries(changes.map((name) => [name, name])),
  };
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
        instead,
        name: `take under limit ${tier}, and change ${change}, then take`,
        threads: [[['early take', 1, 1, tier]], [[change], ['take', 1, 1, tier]]] as Operation[][],
      })),
    ),
    ...changes.map((change) => ({
      ...base,
      setup: '2',
      instead,
      name: `give an entry, and change ${change}`,
      threads: [[['early take', 1, 2, 1]], [[change]]] as Operation[][],
    })),
  ];
}

/** Keys with two limits each: those of a table with one, and changes of the limits. */
function keyedComposites(): Shared[] {
  const base = {
    subject: 'keyed composite',
    module: subjectModule('keyed-composite'),
    stops: true,
  };
  const take1: Operation = ['take', 1, 2];
  const take2: Operation = ['take', 2, 2];
  const changes = ['double', 'other'];
  // A call that overlaps a change may be under the limits before it.
  const instead = {
    'early take': 'take under the old limits',
    ...Object.fromEntries(changes.map((name) => [name, name])),
  };
  return [
    { ...base, name: 'insert two keys', setup: 'refuse 2', threads: [[take1], [take2]] },
    { ...base, name: 'insert one key', setup: 'refuse 2', threads: [[take1], [take1]] },
    {
      ...base,
      name: 'insert and reclaim',
      setup: 'refuse 1 3 2',
      threads: [[take1], [['take', 3, 2]]],
    },
    {
      ...base,
      name: 'take and cancel, and reclaim',
      setup: 'refuse 1 3 2',
      threads: [[['take', 3, 2]], [take1, ['cancel', 1]]],
    },
    {
      ...base,
      name: 'take and give back, and reclaim',
      setup: 'refuse 1 3 2',
      threads: [[['take', 3, 2]], [take1, ['refund', 1, 2]]],
    },
    {
      ...base,
      name: 'charge a key, and reclaim it',
      setup: 'refuse 1 3 2',
      threads: [[['charge', 3, 2]], [take1]],
    },
    {
      ...base,
      name: 'insert one key and cancel, beside insert it',
      setup: 'refuse 1',
      threads: [[take1, ['cancel', 1]], [take1]],
    },
    ...['share', 'refuse'].map((whenFull) => ({
      ...base,
      name: `insert two keys into the last place, ${whenFull}`,
      setup: `${whenFull} 1 3!`,
      // If another call takes the last place, a call may act as one that finds no place.
      instead: { take: 'take without a place' },
      threads: [[['take', 1, 1]], [['take', 2, 1]]] satisfies Operation[][],
    })),
    ...changes.map((change) => ({
      ...base,
      instead,
      name: `take, and change ${change}, then take`,
      setup: 'refuse 1 1!',
      threads: [[['early take', 1, 1]], [[change], ['take', 1, 1]]] satisfies Operation[][],
    })),
  ];
}

const PLANS: readonly Plan[] = [
  {
    ...BUCKET,
    ...bucketPlan,
    subject: 'bucket',
    operations: { ...bucketOperations, reconfigure },
    oneWay: 'reconfigure and reconfigure',
    long: { 'renewing acquire': renew },
  },
  {
    subject: 'bucket in debt',
    module: 'bucket',
    setup: '1 3 0',
    operations: { borrow, refund, 'refund 5': ['refund', 5], charge, drain },
    long: { reconfigure },
    inThrees: { borrow, refund, drain },
    followed: ['borrow and see when it is due', borrow, ['due']],
  },
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
  windowPlan('fixed-window'),
  windowPlan('double-burst'),
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
      charge: ['charge', 1, 7],
      block: ['block', 1, 5_000_000],
      decide: ['decide', 1, 2],
      balance: ['balance', 1],
    },
    inThrees: { take: ['take', 1, 2], drain: ['drain', 1, 2], refund: ['refund', 1, 1] },
    followed: ['take and cancel', ['take', 1, 2], ['cancel', 1]],
  },
  {
    subject: 'keyed composite, key found',
    module: 'keyed-composite',
    setup: 'refuse 1 1!',
    operations: { take: ['take', 1, 2], borrow: ['borrow', 1, 3] },
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
    followed: ['borrow and cancel', ['borrow', 1, 3], ['cancel', 1]],
  },
  {
    ...KEYED,
    subject: 'keyed window, key found',
    setup: 'windows refuse 2 1!',
    operations: {
      'take in the next window': ['take', 1, 2, 2_000_000],
      charge: ['charge', 1, 4],
      block: ['block', 1, 3_000_000],
      take: ['take', 1, 1],
      drain: ['drain', 1, 2],
      decide: ['decide', 1, 2],
      balance: ['balance', 1],
    },
    inThrees: {
      take: ['take', 1, 1],
      'take in the next window': ['take', 1, 2, 2_000_000],
      drain: ['drain', 1, 2],
    },
    followed: ['take and cancel', ['take', 1, 2, 2_000_000], ['cancel', 1]],
  },
  {
    ...KEYED,
    subject: 'keyed window, over',
    setup: 'windows refuse 1 3 4',
    operations: {},
    long: {
      take: ['take', 1, 2],
      "another's take": ['take', 2, 2],
      drain: ['drain', 1, 2],
      charge: ['charge', 1, 4],
    },
    inThrees: {},
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
    ...[refund, reconfigure, charge].map((change) => ({
      ...bucket,
      subject: 'bucket in debt',
      setup: '1 3 0',
      name: `borrow and cancel, beside refund and ${change[0]}`,
      threads: [
        [borrow, cancel],
        [refund, change],
      ],
    })),
    {
      ...bucket,
      subject: 'bucket in debt',
      setup: '1 3 0',
      // The word comes back to what it was while tokens are returned.
      name: 'charge, borrow and cancel, beside refund',
      threads: [[charge, borrow, cancel], [refund]],
    },
    {
      ...bucket,
      name: 'renewing acquire, twice, and acquire',
      threads: [[renew], [renew], [acquire]],
    },
    {
      ...bucket,
      name: 'renewing acquire, and reconfigure and acquire',
      threads: [[renew], [reconfigure, acquire]],
    },
    {
      ...bucket,
      name: 'renewing acquire and acquire, and reconfigure',
      threads: [[renew, acquire], [reconfigure]],
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
    ...tierChanges(),
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
 * Against two changes of the record, the second of which writes the record that was live at the
 * start: reconfigurations, or returns to a bucket in debt.
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
  const changes: [name: string, setup: string, changes: Operation[]][] = [
    ['reconfigure and reconfigure', '1 3 2 1', [reconfigure, ['reconfigure', 0.5, 1]]],
    ['borrow, refund and refund', '1 3 0 1', [['acquire', 3, 1e9], refund, refund]],
  ];
  // A return that is stopped keeps the last free record.
  const { refund: _, ...withoutRecord } = operations;
  return changes.flatMap(([what, setup, twice]) =>
    Object.entries(twice.includes(refund) ? withoutRecord : operations).map(
      ([name, operation]) => ({
        subject: 'bucket, record used again',
        module: subjectModule('bucket'),
        setup,
        stops: true,
        name: `${name} beside ${what}`,
        threads: [[operation], twice],
      }),
    ),
  );
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

/** Permits: 2 of 3 are out, or all are and a caller waits. */
function semaphores(): Shared[] {
  const module = subjectModule('semaphore');
  const base = { module, stops: true };
  const permit: Operation = ['take', 1];
  const join: Operation = ['join', 1];
  const joinTwo: Operation = ['join', 2];
  const release: Operation = ['release'];
  const leave: Operation = ['leave'];
  const more: Operation = ['change', 4];
  const fewer: Operation = ['change', 1];
  const recover: Operation = ['recover'];
  const free = { ...base, subject: 'semaphore', setup: '3 h2' };
  const queued = { ...base, subject: 'semaphore, queued', setup: '2 h1 q2' };
  const due = { ...base, subject: 'semaphore, due', setup: '3 d2' };
  const beside = {
    take: permit,
    join,
    'join 2': joinTwo,
    more,
    fewer,
    recover,
  } satisfies Named;
  const list = (of: typeof free, operations: Named) =>
    pairs(operations).map(([name, a, b]) => ({
      ...of,
      name,
      threads: [[a], [b]],
      // A recovery takes one seat after another; half of one is no operation of the reference.
      stops: of === free || a === b || (a !== recover && b !== recover),
    }));
  return [
    ...list(free, { ...beside, look: ['look'] }),
    ...list(queued, { take: permit, join, 'join 2': joinTwo, fewer, look: ['look'] }),
    ...list(queued, { take: permit, more }).slice(1, 2),
    ...list(queued, { recover, take: permit }),
    ...list(due, { expire: ['expire'], take: permit, 'join 2': joinTwo, fewer }).slice(0, 4),
    ...list(due, { recover, expire: ['expire'] }).slice(1, 2),
    ...Object.entries({
      take: permit,
      'join 2': joinTwo,
      fewer,
      look: ['look'],
    } satisfies Named).map(([name, operation]) => ({
      ...free,
      name: `take and release, beside ${name}`,
      threads: [[permit, release], [operation]] satisfies Operation[][],
    })),
    ...[free, queued].map((of) => ({
      ...of,
      name: 'join and leave, beside take',
      threads: [[join, leave], [permit]],
    })),
    {
      ...free,
      name: 'take and release, twice',
      threads: [
        [permit, release],
        [permit, release],
      ],
    },
    ...triples({ take: permit } satisfies Named).map(([name, ...operations]) => ({
      ...free,
      name,
      threads: operations.map((operation) => [operation]),
    })),
  ];
}

/** The longest come first, so that all cores are busy to the end. */
export const SCENARIOS: readonly Listed[] = [
  ...[
    ...others(),
    ...leases(),
    ...reusedRecords(),
    ...windowChanges(),
    ...keyedComposites(),
    ...semaphores(),
    ...PLANS.flatMap(listed),
  ].flatMap((scenario): Listed[] => [
    { ...scenario, kernel: 'atomics' },
    { ...scenario, kernel: 'wasm' },
  ]),
  // It has no kernel: it uses Atomics on its word.
  ...listed(PLAIN).map((scenario): Listed => ({ ...scenario, kernel: 'atomics' })),
];
