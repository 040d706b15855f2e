// The exports of the module for tables whose keys have several limits.

export { holdAs } from './holder';
export { beginChange, publishChange, putLimit } from './keyed/change';
export {
  balance,
  dueUs,
  entriesInUse,
  failure,
  longestProbe,
  open,
  placeless,
  reclaimed,
  timeUntil,
} from './keyed-composite/keyed-composite';
export { receiptEntry, receiptVersion } from './keyed-composite/charge';
export { cancel, reset, returnTokens } from './keyed-composite/return';
export {
  acquire,
  block,
  charge,
  decide,
  drain,
  dueHigh,
  dueLow,
  limitsWord,
} from './keyed-composite/take';
export {
  lostRaces,
  receiptCostHigh,
  receiptCostLow,
  receiptHigh,
  receiptLow,
} from './results';
