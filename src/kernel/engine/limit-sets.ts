// The exports of the module for limit sets, keyed and not.

export { holdAs } from './holder';
export { reclaimed } from './keyed/claim';
export { longestProbe } from './keyed/table';
export { beginChange, fence, layLimit, publishChange, putLimit } from './limit-set/change';
export {
  acquire,
  balance,
  block,
  charge,
  decide,
  drain,
  entriesInUse,
  fillShared,
  lay,
  leaveRegion,
  open,
  placeless,
  timeUntil,
} from './limit-set/limit-set';
export {
  addedHigh,
  addedLow,
  cancel,
  dueUs,
  indexHigh,
  indexLow,
  limitsWord,
  movedUs,
  receiptTokens,
  reset,
  returnTokens,
  stage,
  wasDue,
} from './limit-set/return';
export { promiseEpoch, promiseVirtual } from './limit-set/schedule';
export { failure, lostRaces, receiptEntry, receiptVersion } from './results';
