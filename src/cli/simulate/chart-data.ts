import type { SimulateResult } from '../../simulate/result.ts';
import type { LimiterResult } from '../../simulate/simulation.ts';

const MOST_ABOVE = 2;

/** Rates over time for one limiter. */
export interface RatesByTime {
  readonly slotSeconds: number;
  /** Per second, one value per slot; all slots have the same length. */
  readonly arrivals: readonly number[];
  readonly admitted: readonly number[];
  /** The most that the limiter promises to admit in a slot, per second. */
  readonly bound: number;
  /** The highest rate of all slots. */
  readonly highest: number;
  /** A bound far above the rates would flatten the chart; it is then stated as text. */
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

/** The highest rate of the charts of all limiters, so that they can have one scale. */
export function highestOf(result: SimulateResult): number {
  const tops = result.limiters.map((one) => {
    const { highest, bound, isBoundNear } = ratesByTime(result, one);
    return isBoundNear ? Math.max(highest, bound) : highest;
  });
  return Math.max(...tops);
}
