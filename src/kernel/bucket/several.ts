import type { LimitOutcome, Outcome } from './kernel.ts';
import { notes } from './notes.ts';
import type { Schedule } from './schedule.ts';

/** The outcome of a decision under several limits, from the engine's reports. */
export function outcomeOfAll(allowed: boolean, count: number): Outcome {
  return outcomeOf(allowed, notes.outcomes.slice(0, count));
}

/** The smallest burst, the lowest balance and the longest waits of all limits. */
export function outcomeOf(allowed: boolean, limits: readonly LimitOutcome[]): Outcome {
  let burst = Number.POSITIVE_INFINITY;
  let balance = Number.POSITIVE_INFINITY;
  let retryUs = 0;
  let fullUs = 0;
  for (const limit of limits) {
    burst = Math.min(burst, limit.burst);
    balance = Math.min(balance, limit.balance);
    retryUs = Math.max(retryUs, limit.retryUs);
    fullUs = Math.max(fullUs, limit.fullUs);
  }
  return { allowed, burst, balance, retryUs, fullUs, limits };
}

/** The lowest rate and the smallest burst; the other fields are the first limit's. */
export function tightest(schedules: readonly Schedule[]): Schedule {
  return {
    ...(schedules[0] as Schedule), // there is at least one
    rate: Math.min(...schedules.map(({ rate }) => rate)),
    burst: Math.min(...schedules.map(({ burst }) => burst)),
  };
}
