import type { DriveResult, FailuresByTime } from '../../load/judge/drive-result.ts';
import { formatSpan } from '../format.ts';
import { COLOURS, type LineChart, type Series } from '../report/page.ts';

/** Further kinds share one line. */
const MOST_KINDS = COLOURS.length - 1;
const MOST_SLOTS = 100;
/** A rest of the run that is a smaller part of a slot belongs to the slot before it. */
const LEAST_SLOT = 0.01;

/** Failures by due time and kind; undefined if there were none. */
export function failuresChart({ failuresByTime, elapsedMs }: DriveResult): LineChart | undefined {
  if (failuresByTime.length === 0) return undefined;
  const finestUs = Math.max(...failuresByTime.map(({ slotMs }) => 1_000 * slotMs));
  const spanUs = elapsedMs * 1_000;
  const slotUs = slotFor(spanUs, finestUs);
  const ends = slotEnds(spanUs, slotUs);
  const kinds = failuresByTime
    .toSorted((a, b) => sum(b.counts) - sum(a.counts))
    .map((one) => ({ kind: one.kind, rates: ratesOf(one, slotUs, ends) }));
  const named = kinds.slice(0, MOST_KINDS);
  const others = kinds.slice(MOST_KINDS).map(({ rates }) => rates);
  const rest = others.reduce<number[]>(
    (all, rates) => rates.map((rate, at) => rate + (all[at] ?? 0)),
    [],
  );
  const rows = others.length === 0 ? named : [...named, { kind: 'others', rates: rest }];
  return {
    kind: 'lines',
    title: `Failures by due time, each ${formatSpan(slotUs / 1_000)}`,
    over: 'time',
    x: [0, ...ends].map((us) => us / 1e6),
    end: elapsedMs / 1_000,
    series: rows.map(
      ({ kind, rates }, at): Series => ({
        label: kind,
        colour: COLOURS[at] ?? 'grey',
        // Draws the last step up to the end.
        values: [...rates, rates.at(-1) ?? 0],
        look: 'area',
      }),
    ),
    unit: '/s',
    steps: true,
  };
}

/**
 * A slot of 1, 2 or 5 times a power of ten, wide enough for a chart. It holds a whole number of
 * counted slots: otherwise a constant failure rate would seem to oscillate.
 */
function slotFor(spanUs: number, countedUs: number): number {
  const least = Math.max(1_000, spanUs / MOST_SLOTS);
  const power = 10 ** Math.floor(Math.log10(least));
  const widths = [1, 2, 5, 10].map((factor) => factor * power);
  return widths.find((us) => us >= least && us % countedUs === 0) ?? Math.max(...widths);
}

/** Where each slot ends: the last one with the run. */
function slotEnds(spanUs: number, slotUs: number): number[] {
  const slots = Math.max(1, Math.ceil(spanUs / slotUs - LEAST_SLOT));
  const ends = Array.from({ length: slots }, (_, at) => (at + 1) * slotUs);
  return spanUs > 0 ? [...ends.slice(0, -1), spanUs] : ends;
}

/** Failures per second in each slot. */
function ratesOf({ slotMs, counts }: FailuresByTime, slotUs: number, ends: number[]): number[] {
  const failed = new Array<number>(ends.length).fill(0);
  counts.forEach((count, at) => {
    const slot = Math.min(ends.length - 1, Math.floor((at * slotMs * 1_000) / slotUs));
    failed[slot] = (failed[slot] ?? 0) + count;
  });
  return failed.map((count, slot) => {
    const lengthUs = (ends[slot] ?? slotUs) - slot * slotUs;
    return (count * 1e6) / lengthUs;
  });
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
