// The exports of the module for buckets.

export { balance, drain, returnTokens, timeUntil } from './bucket/bucket';
export { acquire, charge, decide } from './bucket/take';
export {
  failure,
  lostRaces,
  outcomeBalance,
  outcomeBurst,
  outcomeFullUs,
  outcomeNextUs,
  outcomeRetryUs,
  receiptCostHigh,
  receiptCostLow,
  receiptHigh,
  receiptLow,
} from './results';
export { fractionHigh, fractionLow, indexHigh, indexLow } from './bucket/token-index';
export { createBucket, look, reconfigure } from './bucket/reconfigure';
export { forget, forget as leaveRegion } from './bucket/record';
export {
  cancel,
  cancelMoved,
  dueUs,
  findPromise,
  liveGeneration,
  liveSinceUs,
  promiseGeneration,
  promiseLimit,
} from './bucket/reservation';
