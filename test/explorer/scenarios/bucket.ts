import { subjectModule } from '../explore.ts';
import type { Operation } from '../subject.ts';
import {
  acquire,
  borrow,
  cancel,
  charge,
  drain,
  reconfigure,
  refund,
  renew,
  stale,
} from './operations.ts';
import type { Named, Plan, Shared } from './plan.ts';

/** A bucket at 1/s that holds 2 of 3 tokens: small enough that operations interfere. */
const BUCKET = { module: 'token', setup: 'bucket 1 3 2' } as const;

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

/** The bucket in plain TypeScript, which has no kernel. */
export const PLAIN: Plan = {
  ...bucketPlan,
  subject: 'plain bucket',
  module: 'plain',
  operations: bucketOperations,
};

export const BUCKET_PLANS: readonly Plan[] = [
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
    module: 'token',
    setup: 'bucket 1 3 0',
    operations: { borrow, refund, 'refund 5': ['refund', 5], charge, drain },
    long: { reconfigure },
    inThrees: { borrow, refund, drain },
    followed: ['borrow and see when it is due', borrow, ['due']],
  },
];

const less: Operation = ['reconfigure', 0, 0.5, 1];

/** Scenarios of one bucket outside the plans. */
export function buckets(): Shared[] {
  const bucket = { ...BUCKET, module: subjectModule('token'), subject: 'bucket', stops: true };
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
    ...[refund, reconfigure, charge].map((change) => ({
      ...bucket,
      subject: 'bucket in debt',
      setup: 'bucket 1 3 0',
      name: `borrow and cancel, beside refund and ${change[0]}`,
      threads: [
        [borrow, cancel],
        [refund, change],
      ],
    })),
    {
      ...bucket,
      subject: 'bucket in debt',
      setup: 'bucket 1 3 0',
      // The word has its earlier value again while tokens are returned.
      name: 'charge, borrow and cancel, beside refund',
      threads: [[charge, borrow, cancel], [refund]],
    },
    {
      ...bucket,
      // Ended threads hold five of seven records. Beside two changes there are too many states.
      setup: `${BUCKET.setup} 2`,
      name: 'take over claims and reconfigure, beside another',
      threads: [[['take over'], reconfigure], [less]],
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
  ];
}

/**
 * Against two changes of the record, the second of which writes the record that was live at the
 * start: reconfigurations, or returns to a bucket in debt.
 */
export function reusedRecords(): Shared[] {
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
    ['reconfigure and reconfigure', 'bucket 1 3 2 1', [reconfigure, less]],
    ['borrow, refund and refund', 'bucket 1 3 0 1', [['acquire', 3, 1e9], refund, refund]],
  ];
  // A return that is stopped keeps the last free record.
  const { refund: _, ...withoutRecord } = operations;
  return changes.flatMap(([what, setup, twice]) =>
    Object.entries(twice.includes(refund) ? withoutRecord : operations).map(
      ([name, operation]) => ({
        subject: 'bucket, record used again',
        module: subjectModule('token'),
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
export function leases(): Shared[] {
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
