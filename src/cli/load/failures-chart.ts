import type { LoadResult } from '../../load/result.ts';
import type { Timeline } from '../../load/timeline.ts';
import { formatSpan } from '../format.ts';
import { COLOURS, type LineChart, type Series } from '../report/page.ts';

/** Further kinds share one line. */
const MOST_KINDS = COLOURS.length - 1;
const MOST_SLOTS = 100;

/** Failures by due time and kind; undefined if there were none. */
export function failuresChart({ tally, elapsedMs }: LoadResult): LineChart | undefined {
  const { failuresByTime } = tally;
  if (failuresByTime.size === 0) return undefined;
  const finestUs = Math.max(...[...failuresByTime.values()].map(({ slotUs: width }) => width));
  const slotUs = slotFor(elapsedMs * 1_000, finestUs);
  const kinds = [...failuresByTime]
    .map(([kind, failures]) => ({ kind, rates: ratesOf(failures, slotUs, elapsedMs) }))
    .sort((a, b) => sum(b.rates) - sum(a.rates));
  const named = kinds.slice(0, MOST_KINDS);
  const others = kinds.slice(MOST_KINDS).map(({ rates }) => rates);
  const rest = others.reduce<number[]>(
    (all, rates) => rates.map((rate, at) => rate + (all[at] ?? 0)),
    [],
  );
  const rows = others.length === 0 ? named : [...named, { kind: 'others', rates: rest }];
  const slots = named[0]?.rates.length ?? 0;
  return {
    kind: 'lines',
    title: `Failures by due time, each ${formatSpan(slotUs / 1_000)}`,
    over: 'time',
    x: Array.from({ length: slots + 1 }, (_, at) => (at * slotUs) / 1e6),
    end: elapsedMs / 1_000,
    series: rows.map(
      ({ kind, rates }, at): Series => ({
        label: kind,
        colour: COLOURS[at] ?? 'grey',
        // Extends the last step to the length of the others.
        values: [...rates, rates.at(-1) ?? 0],
        look: 'area',
      }),
    ),
    unit: '/s',
    logarithmic: false,
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

/** Failures per second in each slot. */
function ratesOf(failures: Timeline, slotUs: number, elapsedMs: number): number[] {
  const { slotUs: fineUs, counts } = failures;
  const slots = Math.max(1, Math.ceil((elapsedMs * 1_000) / slotUs));
  const rates = new Array<number>(slots).fill(0);
  counts.forEach((count, at) => {
    const slot = Math.min(slots - 1, Math.floor((at * fineUs) / slotUs));
    rates[slot] = (rates[slot] ?? 0) + (count * 1e6) / slotUs;
  });
  return rates;
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
