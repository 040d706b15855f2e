// What the module for buckets, windows, logs and Sometimes exports.

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
export { fixedTake, fixedTakeAt } from './fixed-window';
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
export { logTakeAt } from './sliding-log';
export { slidingAddUp, slidingKept, slidingTakeAt } from './sliding-window';
export { sometimesDue, sometimesDueAt } from './sometimes';
export {
  windowCancel,
  windowFullUs,
  windowLeft,
  windowLook,
  windowSeenHigh,
  windowSeenLow,
  windowWaitUs,
} from './window';
