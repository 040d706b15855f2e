// The exports of the module for buckets.

export {
  acquire,
  balance,
  cancel,
  decide,
  drain,
  failure,
  returnTokens,
  timeUntil,
} from './bucket';
export {
  lostRaces,
  outcomeBalance,
  outcomeBurst,
  outcomeFullUs,
  outcomeRetryUs,
  receiptCostHigh,
  receiptCostLow,
  receiptGeneration,
  receiptHigh,
  receiptLow,
} from './results';
export { createBucket, reconfigure } from './reconfigure';
export { forget } from './record';
