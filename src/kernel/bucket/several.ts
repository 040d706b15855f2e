import { notes } from './composite-engine.ts';
import type { Outcome } from './kernel.ts';
import type { Schedule } from './schedule.ts';

/** What a decision under several limits comes to, as the engine has reported them. */
export function outcomeOfAll(allowed: boolean, count: number): Outcome {
  const limits = notes.outcomes.slice(0, count);
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
    ...(schedules[0] as Schedule), // there are at least two
    rate: Math.min(...schedules.map(({ rate }) => rate)),
    burst: Math.min(...schedules.map(({ burst }) => burst)),
  };
}
