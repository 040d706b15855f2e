// The exports of the module for tables whose keys have several limits.

export { holdAs } from './holder';
export { beginChange, publishChange, putLimit } from './keyed/change';
export { reclaimed } from './keyed/claim';
export { longestProbe } from './keyed/table';
export {
  balance,
  dueUs,
  entriesInUse,
  open,
  placeless,
  timeUntil,
} from './keyed-composite/keyed-composite';
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
  failure,
  lostRaces,
  receiptCostHigh,
  receiptCostLow,
  receiptEntry,
  receiptHigh,
  receiptLow,
  receiptVersion,
} from './results';
