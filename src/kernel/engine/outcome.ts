import { burst, capTicks, tokensOf, untilHeld } from './limit';

// The state of a bucket right after a decision.

let balance: f64 = 0;
let retry: f64 = 0;
let full: f64 = 0;

/** `held` and `cost` are in ticks. */
export function leaveOutcome(nowUs: f64, held: f64, cost: f64, isAdmitted: bool): void {
  balance = tokensOf(held);
  retry = isAdmitted ? 0 : untilHeld(nowUs, held, cost);
  full = untilHeld(nowUs, held, capTicks as f64);
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
