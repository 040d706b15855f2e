import { highOf } from './word';

// What identifies the last admission, for its cancellation: the word that it wrote, what it added to
// the word, and for a bucket the generation of its limit.

let word: i64 = 0;
let cost: i64 = 0;
let generation: i32 = 0;

export function leaveReceipt(written: i64, added: i64, record: i32): void {
  word = written;
  cost = added;
  generation = record;
}

export function receiptLow(): i32 {
  return word as i32;
}

export function receiptHigh(): i32 {
  return highOf(word);
}

export function receiptCostLow(): i32 {
  return cost as i32;
}

export function receiptCostHigh(): i32 {
  return highOf(cost);
}

export function receiptGeneration(): i32 {
  return generation;
}
