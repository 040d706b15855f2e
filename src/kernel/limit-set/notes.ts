import type { LimitOutcome, Outcome } from '../bucket/kernel.ts';
import type { Schedule } from '../bucket/schedule.ts';

/** The last call's report on each limit, in this thread. */
const outcomes: LimitOutcome[] = [];

/** The engine's imports of notes.ts. */
export const NOTES = {
  report(
    limit: number,
    burst: number,
    balance: number,
    retryUs: number,
    fullUs: number,
    nextUs: number,
  ): void {
    outcomes[limit] = { burst, balance, retryUs, fullUs, nextUs };
  },
};

/** The outcome of a decision under several limits, from the engine's reports. */
export function reportedOutcome(allowed: boolean, count: number): Outcome {
  return outcomeOf(allowed, outcomes.slice(0, count));
}

/** The smallest burst, the lowest balance and the longest waits of all limits. */
export function outcomeOf(allowed: boolean, limits: readonly LimitOutcome[]): Outcome {
  let burst = Number.POSITIVE_INFINITY;
  let balance = Number.POSITIVE_INFINITY;
  let retryUs = 0;
  let fullUs = 0;
  let nextUs = 0;
  for (const limit of limits) {
    burst = Math.min(burst, limit.burst);
    balance = Math.min(balance, limit.balance);
    retryUs = Math.max(retryUs, limit.retryUs);
    fullUs = Math.max(fullUs, limit.fullUs);
  }
  // The others have one more token already.
  const whole = wholeOf(balance);
  for (const limit of limits) {
    if (wholeOf(limit.balance) === whole) nextUs = Math.max(nextUs, limit.nextUs);
  }
  return { allowed, burst, balance, retryUs, fullUs, nextUs, limits };
}

/**
 * The whole tokens of a balance. One of more ticks than a double can count may be one bit below a
 * whole number.
 */
export function wholeOf(balance: number): number {
  return Math.max(0, Math.floor(balance + balance * Number.EPSILON));
}

/** The lowest rate and the smallest burst; the other fields are the first limit's. */
export function tightest(schedules: readonly Schedule[]): Schedule {
  return {
    ...(schedules[0] as Schedule), // there is at least one
    rate: Math.min(...schedules.map(({ rate }) => rate)),
    burst: Math.min(...schedules.map(({ burst }) => burst)),
  };
}
