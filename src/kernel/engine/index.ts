// What the module exports.

export {
  acquire,
  balance,
  balanceThen,
  burstThen,
  cancel,
  decide,
  drain,
  fullUs,
  racesLost,
  receiptCost,
  receiptGeneration,
  receiptWord,
  refund,
  retryUs,
  timeUntil,
} from './bucket';
export { reconfigure } from './reconfigure';
export { fixedTake, fixedTakeAt } from './fixed-window';
export { logTakeAt } from './sliding-log';
export { slidingAddUp, slidingKept, slidingTakeAt } from './sliding-window';
export { sometimesDue, sometimesDueAt } from './sometimes';
export {
  windowFullUs,
  windowLeft,
  windowLook,
  windowLookHigh,
  windowRacesLost,
  windowWaitUs,
  windowWord,
} from './window';
