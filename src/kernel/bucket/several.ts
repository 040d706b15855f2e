import { notes } from './composite-engine.ts';
import type { LimitOutcome, Outcome } from './kernel.ts';
import type { Schedule } from './schedule.ts';

/** What a decision under several limits comes to, as the engine has reported them. */
export function outcomeOfAll(allowed: boolean, count: number): Outcome {
  const limits = notes.outcomes.slice(0, count);
  const each = (field: keyof LimitOutcome) => limits.map((limit) => limit[field]);
  return {
    allowed,
    burst: Math.min(...each('burst')),
    balance: Math.min(...each('balance')),
    retryUs: Math.max(...each('retryUs')),
    fullUs: Math.max(...each('fullUs')),
    limits,
  };
}

/** The lowest rate and the smallest burst; the other fields are the first limit's. */
export function tightest(schedules: readonly Schedule[]): Schedule {
  return {
    ...(schedules[0] as Schedule), // there are at least two
    rate: Math.min(...schedules.map(({ rate }) => rate)),
    burst: Math.min(...schedules.map(({ burst }) => burst)),
  };
}
