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
export { outcomeBalance, outcomeBurst, outcomeFullUs, outcomeRetryUs } from './outcome';
export { lostRaces } from './races';
export {
  receiptCostHigh,
  receiptCostLow,
  receiptGeneration,
  receiptHigh,
  receiptLow,
} from './receipt';
export { createBucket, reconfigure } from './reconfigure';
export { logTakeAt } from './sliding-log';
export { slidingAddUp, slidingKept, slidingTakeAt } from './sliding-window';
export { sometimesDue, sometimesDueAt } from './sometimes';
export {
  windowCancel,
  windowFullUs,
  windowLeft,
  windowLook,
  windowLookHigh,
  windowWaitUs,
} from './window';
