// The exports of the module for buckets. Buckets with several limits share all but their
// operations, so one module is smaller than two. Names with ALL are their operations.

export { balance, drain, returnTokens, timeUntil } from './bucket/bucket';
export { acquire, charge, decide } from './bucket/take';
export {
  balance as balanceAll,
  drain as drainAll,
  returnTokens as returnToAll,
  timeUntil as timeUntilAll,
} from './composite/composite';
export { publishLimits } from './composite/change';
export { beginReconfigure, layLimit, propose } from './composite/proposal';
export { cancel as cancelAll, dueUs as dueUsOf } from './composite/reservation';
export { acquire as acquireAll, charge as chargeAll, decide as decideAll } from './composite/take';
export { leaveRegion } from './composite/slot';
export { holdAs } from './holder';
export {
  failure,
  lostRaces,
  outcomeBalance,
  outcomeBurst,
  outcomeFullUs,
  outcomeRetryUs,
  receiptCostHigh,
  receiptCostLow,
  receiptHigh,
  receiptLow,
} from './results';
export { fractionHigh, fractionLow, indexHigh, indexLow } from './bucket/token-index';
export { createBucket, reconfigure } from './bucket/reconfigure';
export { forget } from './bucket/record';
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
