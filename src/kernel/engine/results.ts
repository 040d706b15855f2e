import { highOf } from './arithmetic';
import { burst, capTicks, costOf, ticksPerToken, tokensOf, untilHeld } from './bucket/limit';
import { DAMAGED } from './constants';
import { report } from './host';

// The results of the last call that do not fit into its return value.

// Failed exchanges: exchanges that failed because another thread changed the word.

let lost: i32 = 0;

export function beginExchanges(): void {
  lost = 0;
}

export function failExchange(): void {
  lost++;
}

export function failedExchanges(): i32 {
  return lost;
}

// Why the call failed, for a host that cannot see it from the return value.

export let failed: f64 = DAMAGED;

export function failBecause(reason: f64): void {
  failed = reason;
}

export function failure(): f64 {
  return failed;
}

// Identifies the last admission for a cancellation: the word that it wrote, and the amount added
// (except for windows, whose host knows it); in a table, also the entry and its owner.

export let word: i64 = 0;
let cost: i64 = 0;
let entry: usize = 0;
let identity: i64 = 0;

export function leaveWord(written: i64): void {
  word = written;
}

export function leaveCost(added: i64): void {
  cost = added;
}

/** The admission charges no entry so far. */
export function forgetEntry(): void {
  entry = 0;
}

export function leaveEntry(charged: usize, owner: i64): void {
  entry = charged;
  identity = owner;
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

/** As an Int64 index in the region. */
export function receiptEntry(): i32 {
  return (entry >> 3) as i32;
}

/** The low half of the owner's identity. */
export function receiptVersion(): i32 {
  return identity as i32;
}

// The state of a bucket immediately after a decision.

let balance: f64 = 0;
let retry: f64 = 0;
let full: f64 = 0;
let next: f64 = 0;

/** `held` and `cost` are in ticks. */
export function leaveOutcome(nowUs: f64, held: f64, cost: f64, isAdmitted: bool): void {
  balance = tokensOf(held);
  retry = isAdmitted ? 0 : untilHeld(nowUs, held, cost);
  full = untilHeld(nowUs, held, capTicks as f64);
  // The host rounds in the same way: see `wholeOf` in limit-set/cell.ts of the host.
  const whole = max<f64>(0, floor(balance + balance * f64.EPSILON));
  next = ticksPerToken == 0 ? Infinity : untilHeld(nowUs, held, costOf(whole + 1) as f64);
}

/**
 * Reports the state under one limit of a set, in which nothing is granted before `queueUs`. For only
 * one limit, the functions below are faster.
 */
export function reportOutcome(
  limit: i32,
  nowUs: f64,
  held: f64,
  cost: f64,
  isAdmitted: bool,
  queueUs: f64,
): void {
  leaveOutcome(nowUs, held, cost, isAdmitted);
  const wait = isAdmitted ? 0 : max(retry, queueUs);
  report(limit, burst, balance, wait, full, max(next, queueUs));
}

export function outcomeBurst(): f64 {
  return burst;
}

export function outcomeBalance(): f64 {
  return balance;
}

export function outcomeRetryUs(): f64 {
  return retry;
}

export function outcomeFullUs(): f64 {
  return full;
}

export function outcomeNextUs(): f64 {
  return next;
}
