import type { LatencyTimeline, SlotPercentiles } from '../../load/latency-timeline.ts';
import type { LineChart, Series } from './page.ts';

const LINES = {
  p50: { label: 'p50', colour: 'blue', look: 'line' },
  p90: { label: 'p90', colour: 'sky', look: 'line' },
  p99: { label: 'p99', colour: 'orange', look: 'line' },
  max: { label: 'max', colour: 'purple', look: 'dashes' },
} as const;

type Line = keyof typeof LINES;

/**
 * With fewer values per slot, a percentile would be the maximum. Slots are widened until they have
 * enough; a run too short for that gets fewer lines.
 */
const LEVELS: readonly { readonly least: number; readonly lines: readonly Line[] }[] = [
  { least: 110, lines: ['p50', 'p90', 'p99', 'max'] },
  { least: 12, lines: ['p50', 'p90', 'max'] },
  { least: 1, lines: ['p50', 'max'] },
];
const LEAST_SLOTS = 4;

/** Values per slot that p99 needs to differ from the maximum. */
export const LEAST_FOR_P99 = LEVELS[0]?.least ?? 1;

const MS = 1_000;

/**
 * Percentiles over time in milliseconds, on a logarithmic axis unless a value is 0.
 *
 * @param endS the end of the time axis, in seconds
 */
export function latencyLines(title: string, timeline: LatencyTimeline, endS: number): LineChart {
  const { slots, least, lines } = slotsOf(timeline);
  const unequal = least > 1 ? `, at least ${least} for each point` : '';
  return {
    kind: 'lines',
    title: title + unequal,
    over: 'time',
    x: slots.map(middleOf),
    end: endS,
    series: lines.map(
      (line): Series => ({ ...LINES[line], values: slots.map((slot) => slot[line] / MS) }),
    ),
    unit: ' ms',
    logarithmic: slots.length > 0 && slots.every(({ p50 }) => p50 > 0),
    steps: false,
  };
}

/** The middle of a slot, in seconds. */
export function middleOf({ atUs, untilUs }: SlotPercentiles): number {
  return (atUs + untilUs) / 2e6;
}

function slotsOf(timeline: LatencyTimeline) {
  for (const { least, lines } of LEVELS) {
    const slots = timeline.percentiles(least);
    if (slots.length >= LEAST_SLOTS || least === 1) return { slots, least, lines };
  }
  return { slots: [], least: 1, lines: [] };
}
