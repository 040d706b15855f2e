import type { SimulateResult } from '../../simulate/result.ts';
import type { LimiterResult } from '../../simulate/simulation.ts';

const MOST_ABOVE = 2;

/** The rates of one limiter over time. */
export interface RatesByTime {
  readonly slotSeconds: number;
  /** Per second, one value per slot of equal length. */
  readonly arrivals: readonly number[];
  readonly admitted: readonly number[];
  /** The guaranteed maximum rate of admissions in a slot, per second. */
  readonly bound: number;
  /** The highest rate of all slots. */
  readonly highest: number;
  /** False if the bound is so far above the rates that it would flatten the chart. */
  readonly isBoundNear: boolean;
}

export function ratesByTime(
  { arrivals }: SimulateResult,
  { outcomes }: LimiterResult,
): RatesByTime {
  const slotSeconds = arrivals.slotUs / 1e6;
  const admitted = outcomes.admissions.counts;
  const came = arrivals.counts;
  const slots = Math.max(came.length, admitted.length);
  const perSecond = (counts: readonly number[]) =>
    Array.from({ length: slots }, (_, slot) => (counts[slot] ?? 0) / slotSeconds);
  const most = Math.min(...outcomes.bounds.map((bound) => bound.most(arrivals.slotUs)));
  const bound = most / slotSeconds;
  const arrivalRates = perSecond(came);
  const admittedRates = perSecond(admitted);
  const highest = arrivalRates.concat(admittedRates).reduce((a, b) => Math.max(a, b), 0);
  return {
    slotSeconds,
    arrivals: arrivalRates,
    admitted: admittedRates,
    bound,
    highest,
    isBoundNear: bound <= MOST_ABOVE * highest,
  };
}

/** The highest rate over all limiters, so that their charts share a scale. */
export function highestOf(result: SimulateResult): number {
  const tops = result.limiters.map((one) => {
    const { highest, bound, isBoundNear } = ratesByTime(result, one);
    return isBoundNear ? Math.max(highest, bound) : highest;
  });
  return Math.max(...tops);
}
