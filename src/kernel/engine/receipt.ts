import { highOf } from './word';

// Identifies the last admission, for its cancellation: the word that it wrote, what it added to the
// word (a window's host knows that), and for a bucket the generation of its limit.

let word: i64 = 0;
let cost: i64 = 0;
let generation: i32 = 0;

export function leaveWord(written: i64): void {
  word = written;
}

export function leaveCost(added: i64): void {
  cost = added;
}

export function leaveGeneration(record: i32): void {
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
