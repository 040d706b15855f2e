import { named, type Plan, played, type Shared } from './plan.ts';

const OPERATIONS = named({
  take: 'acquire 1 2',
  borrow: 'acquire 1 3 1e9',
  cancel: 'cancel 1',
  reset: 'reset 1',
  'take one': 'acquire 1 1',
  'take of 2': 'acquire 2 2',
  'take of 3': 'acquire 3 2',
});
const { take, borrow, cancel, reset } = OPERATIONS;

export const KEYED_LIMIT_SET_PLANS: readonly Plan[] = [
  {
    subject: 'keyed limit set, key found',
    module: 'token',
    setup: 'keyed-limit-set refuse 1 1!',
    operations: { take, borrow },
    long: {
      ...named({
        drain: 'drain 1 2',
        refund: 'refund 1 1',
        charge: 'charge 1 7',
        block: 'block 1 5000000',
      }),
      reset,
      ...named({ decide: 'decide 1 2', balance: 'balance 1' }),
    },
    inThrees: {},
    followed: ['borrow and cancel', borrow, cancel],
  },
];

/** Scenarios outside the plan, and changes of the limits. */
export function keyedLimitSets(): Shared[] {
  const list = (setup: string, texts: Record<string, string>, more = {}) => {
    const base = { subject: 'keyed limit set', module: 'token' };
    return played({ ...base, setup: `keyed-limit-set ${setup}`, ...more }, OPERATIONS, texts);
  };
  return [
    ...list('refuse 2', {
      'insert two keys': 'take | take of 2',
      'insert one key': 'take | take',
    }),
    ...list('refuse 1 3 2', {
      'insert and reclaim': 'take | take of 3',
      'take and cancel, and reclaim': 'take of 3 | take; cancel',
      'take and give back, and reclaim': 'take of 3 | take; refund 1 2',
      'charge a key, and reclaim it': 'charge 3 2 | take',
    }),
    ...list('refuse 2 1!', {
      'drain, beside a reset and a key that takes the entry': 'drain 1 3 | reset; take of 2',
    }),
    ...list('refuse 1', {
      'insert one key and cancel, beside insert it': 'take; cancel | take',
    }),
    ...list(
      'refuse 1 1! dead',
      { 'recover slots and take, beside takes': 'recover; acquire 2 1 | take one; take one' },
      // A recovery takes one slot after another; half of one is no operation of the reference.
      { stops: false },
    ),
    ...['share', 'refuse'].flatMap((whenFull) =>
      list(
        `${whenFull} 1 3!`,
        { [`insert two keys into the last place, ${whenFull}`]: 'take one | acquire 2 1' },
        // If another call takes the last place, a call may act as one that finds no place.
        { instead: { acquire: 'acquire without a place' } },
      ),
    ),
    ...list('refuse 1 1!', {
      'borrow, and see when it is due after reset, beside reset and take':
        'borrow; reset; due 1 | reset; take',
    }),
    ...['double', 'other', 'pause'].flatMap((change) => [
      ...list('refuse 1 1!', {
        [`take, and change ${change}, then take`]: `take one | ${change}; take one`,
      }),
      ...list('refuse 1', { [`insert a key, and change ${change}`]: `take | ${change}` }),
      ...list('refuse 1 1!', {
        [`borrow and see when it is due, beside ${change}`]: `borrow; due 1 | ${change}`,
      }),
    ]),
  ];
}
