import { named } from './plan.ts';

/** The operations of the buckets with one limit and with several. */
export const BUCKET_OPERATIONS = named({
  acquire: 'acquire 1 0',
  'stale acquire': 'acquire 1 0 -500000',
  borrow: 'acquire 2 1e9',
  drain: 'drain 5',
  refund: 'refund 1',
  reconfigure: 'reconfigure 0 4 8',
  charge: 'charge 4',
  cancel: 'cancel',
  renew: 'acquire 1 0 2e12',
});
