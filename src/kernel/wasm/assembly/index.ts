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
