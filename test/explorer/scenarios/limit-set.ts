import { BUCKET_OPERATIONS } from './operations.ts';
import { named, type Plan, played, type Shared } from './plan.ts';

const { acquire, borrow, cancel, charge, drain, refund } = BUCKET_OPERATIONS;
const { 'stale acquire': stale } = BUCKET_OPERATIONS;

/** 2 tokens under each limit, or none: 1/s up to 3, and 2/s up to 4. */
const SET = { subject: 'limit set', module: 'token', setup: 'limit-set 2 1 3 2 4' } as const;
const IN_DEBT = {
  subject: 'limit set in debt',
  module: 'token',
  setup: 'limit-set 0 1 3 2 4',
} as const;

export const LIMIT_SET_PLANS: readonly Plan[] = [
  {
    ...SET,
    operations: { acquire, borrow, drain, refund, ...named({ decide: 'decide 1' }) },
    long: {
      'stale acquire': stale,
      ...named({
        'time until': 'timeUntil 3',
        balance: 'balance',
        'reconfigure one limit': 'reconfigure 0 4 8',
      }),
    },
    inThrees: { acquire, borrow },
    followed: ['borrow and cancel', borrow, cancel],
  },
  {
    ...IN_DEBT,
    operations: { borrow, charge },
    long: {
      refund,
      ...named({ 'refund 5': 'refund 5', 'reconfigure the other': 'reconfigure 1 4 2' }),
    },
    inThrees: { borrow, drain },
  },
];

/** Scenarios of a limit set outside the plans. */
export function limitSets(): Shared[] {
  return [
    // Two renewals, or one beside a change, take minutes.
    ...played(SET, BUCKET_OPERATIONS, {
      'renewing acquire and acquire': 'renew | acquire',
      'renewing acquire and refund': 'renew | refund',
      'renewing acquire and decide': 'renew | decide 1',
    }),
    ...['reconfigure 0 4 8', 'reconfigure 1 4 2', 'refund 1', 'charge 4'].flatMap((change) =>
      played(IN_DEBT, BUCKET_OPERATIONS, {
        [`borrow and see when it is due, beside ${change}`]: `borrow; due | ${change}`,
      }),
    ),
    // Beside two changes of the state, the second of which frees the slot that a call looks at.
    ...played(SET, BUCKET_OPERATIONS, {
      'acquire and decide beside two charges': 'acquire; decide 3 | charge 1; charge 1',
      'decide beside acquire and refund': 'decide 3 | acquire; refund',
    }),
    ...played(IN_DEBT, BUCKET_OPERATIONS, {
      // A change between a promise and its instant, and then calls after it.
      'borrow and see when it is due, beside a change and a later call':
        'borrow; due | reconfigure; acquire 1 0 1000000',
      // Tokens that come back while others are promised.
      'borrow and see when it is due, beside a return and a borrow': 'borrow; due | refund; borrow',
    }),
  ];
}
