import { LEAST_FOR } from '../../load/measure/latency-timeline.ts';
import type { LimiterResult, SimulateResult } from '../../simulate/run.ts';
import { middleOf } from '../report/distributions.ts';

type Points = readonly (readonly [seconds: number, value: number])[];

/** A value over time, with a line for each limiter in their order. */
export interface Course {
  readonly title: string;
  readonly unit: string;
  readonly lines: readonly Points[];
  /** Above the highest value of a limiter that adapts. Lines beyond it continue there. */
  readonly top: number;
}

/** Shorter spans show more of chance than of the server. */
const LEAST_SPAN_US = 1e6;

/** The room above the limiters that adapt: without any limit, values may be 100 times theirs. */
const ABOVE = 1.5;

/** Responses per second. */
function goodputOf({ outcomes: { goodput } }: LimiterResult, endS: number): Points {
  const { counts, slotUs } = goodput;
  const joined = Math.max(1, Math.ceil(LEAST_SPAN_US / slotUs));
  const seconds = (joined * slotUs) / 1e6;
  const all = Math.floor(Math.min(counts.length / joined, endS / seconds));
  return Array.from({ length: all }, (_, at) => {
    const sum = counts.slice(at * joined, (at + 1) * joined).reduce((a, b) => a + b, 0);
    return [(at + 0.5) * seconds, sum / seconds] as const;
  });
}

/** p99 of the responses that arrive by the end. */
function latencyOf({ outcomes }: LimiterResult, endS: number): Points {
  const slots = outcomes.responsesByTime.slotsOf(LEAST_FOR.p99);
  return slots
    .map((slot) => [middleOf(slot), slot.p99Ms ?? slot.maxMs] as const)
    .filter(([seconds]) => seconds <= endS);
}

function permitsOf({ outcomes }: LimiterResult, endS: number): Points {
  return (outcomes.permits?.points() ?? []).filter(([seconds]) => seconds <= endS);
}

/** What a limiter that adapts does over time, beside the others; empty if none adapts. */
export function coursesOf({ limiters, durationMs }: SimulateResult): readonly Course[] {
  if (!limiters.some(({ adapts }) => adapts)) return [];
  const course = (title: string, unit: string, of: typeof goodputOf): Course => {
    const lines = limiters.map((one) => of(one, durationMs / 1_000));
    const adapting = lines.filter((_, at) => limiters[at]?.adapts).flat();
    return { title, unit, lines, top: ABOVE * Math.max(0, ...adapting.map(([, value]) => value)) };
  };
  return [
    course('Permits', '', permitsOf),
    course('p99 of the response times', ' ms', latencyOf),
    course('Responses', '/s', goodputOf),
  ];
}
