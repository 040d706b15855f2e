import { BUCKET_OPERATIONS } from './operations.ts';
import { named, type Plan, played, type Shared } from './plan.ts';

const { acquire, borrow, drain, refund, reconfigure, charge, cancel, renew } = BUCKET_OPERATIONS;
const { 'stale acquire': stale } = BUCKET_OPERATIONS;

/** A bucket at 1/s that holds 2 of 3 tokens: small enough that operations interfere. */
const BUCKET = { subject: 'bucket', module: 'token', setup: 'bucket 1 3 2' } as const;
const IN_DEBT = { subject: 'bucket in debt', module: 'token', setup: 'bucket 1 3 0' } as const;

/** The operations of every bucket, whether or not its limit can change. */
const bucketOperations = {
  ...{ acquire, 'stale acquire': stale, borrow, drain, refund },
  ...named({ decide: 'decide 1', 'time until': 'timeUntil 3', balance: 'balance' }),
};
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
    operations: { ...bucketOperations, reconfigure },
    oneWay: 'reconfigure and reconfigure',
    long: { 'renewing acquire': renew },
  },
  {
    ...IN_DEBT,
    operations: { borrow, refund, ...named({ 'refund 5': 'refund 5' }), charge, drain },
    long: { reconfigure },
    inThrees: { borrow, refund, drain },
    followed: ['borrow and see when it is due', borrow, ['due']],
  },
];

/** Scenarios of one bucket outside the plans. */
export function buckets(): Shared[] {
  // Ended threads hold five of seven records. Beside two changes there are too many states.
  const claimed = { ...BUCKET, setup: `${BUCKET.setup} 2` };
  return [
    ...played(BUCKET, BUCKET_OPERATIONS, {
      'acquire, twice, and reconfigure': 'acquire | acquire | reconfigure',
      'acquire, refund and reconfigure': 'acquire | refund | reconfigure',
      'acquire, and reconfigure twice': 'acquire | reconfigure | reconfigure',
    }),
    ...played(IN_DEBT, BUCKET_OPERATIONS, {
      'borrow and cancel, beside refund and refund': 'borrow; cancel | refund; refund',
      'borrow and cancel, beside refund and reconfigure': 'borrow; cancel | refund; reconfigure',
      'borrow and cancel, beside refund and charge': 'borrow; cancel | refund; charge',
      // The word has its earlier value again while tokens are returned.
      'charge, borrow and cancel, beside refund': 'charge; borrow; cancel | refund',
    }),
    ...played(claimed, BUCKET_OPERATIONS, {
      'take over claims and reconfigure, beside another':
        'take over; reconfigure | reconfigure 0 0.5 1',
    }),
    ...played(BUCKET, BUCKET_OPERATIONS, {
      'renewing acquire, twice, and acquire': 'renew | renew | acquire',
      'renewing acquire, and reconfigure and acquire': 'renew | reconfigure; acquire',
      'renewing acquire and acquire, and reconfigure': 'renew; acquire | reconfigure',
    }),
  ];
}

/**
 * Against two changes of the record, the second of which writes the record that was live at the
 * start: reconfigurations, or returns to a bucket in debt.
 */
export function reusedRecords(): Shared[] {
  const again = { module: 'token', subject: 'bucket, record used again' };
  const list = (setup: string, what: string, changes: string, names: readonly string[]) =>
    names.flatMap((name) =>
      played(
        { ...again, setup },
        { ...BUCKET_OPERATIONS, ...OTHERS },
        {
          [`${name} beside ${what}`]: `${name} | ${changes}`,
        },
      ),
    );
  const OTHERS = named({
    'acquire 2': 'acquire 2 0',
    decide: 'decide 2',
    'time until': 'timeUntil 3',
    balance: 'balance',
  });
  const looks = ['decide', 'time until', 'balance'];
  const takes = ['acquire', 'acquire 2', 'borrow', 'drain'];
  return [
    ...list('bucket 1 3 2 1', 'reconfigure and reconfigure', 'reconfigure; reconfigure 0 0.5 1', [
      ...takes,
      'refund',
      ...looks,
    ]),
    // A return that is stopped keeps the last free record.
    ...list('bucket 1 3 0 1', 'borrow, refund and refund', 'acquire 3 1e9; refund; refund', [
      ...takes,
      ...looks,
    ]),
  ];
}

/**
 * Leases of one bucket. A lease takes six of twelve tokens, so that a reconfiguration to three caps
 * what it returns.
 */
export function leases(): Shared[] {
  const lease = { subject: 'lease', module: 'lease', setup: '12' };
  return played(lease, named({ spend: 'spend 1', cut: 'reconfigure 1 3' }), {
    'take and give back, twice': 'spend; release | spend; release',
    'reconfigure while a stock is taken': 'spend; release | cut',
    'reconfigure while a stock is spent': 'spend; spend; release | cut',
  });
}
