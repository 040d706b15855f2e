import type { ComparisonLine } from '../../load/judge/comparison.ts';
import { formatLatency, formatNumber, formatRate, type Noun } from '../format.ts';

/** The finding of a line about the compared side. */
export interface Finding {
  readonly text: string;
  /** Undefined if no difference was seen, or none can be judged. */
  readonly isBetter: boolean | undefined;
}

/** Bounds on the difference, for continuous integration. */
export interface CompareGates {
  /** Maximum slowdown of a latency or of the rate: 0.05 is 5 %. */
  readonly maxSlower?: number;
  /** Maximum increase of the error share: 0.01 is one percentage point. */
  readonly maxMoreErrors?: number;
}

/** A larger change only means that too little is known. */
const MOST_PERCENT = 999;

const NONE: Finding = { text: 'no difference seen', isBetter: undefined };
const UNKNOWN: Finding = { text: 'not judged', isBetter: undefined };

const WORDS = {
  latency: { higher: 'slower', lower: 'faster' },
  rate: { higher: 'higher', lower: 'lower' },
  errors: { higher: 'more', lower: 'fewer' },
} as const;

/** Derives the finding of a line from its interval. */
export function findingOf({ figure, difference: { interval } }: ComparisonLine): Finding {
  if (interval === undefined) return UNKNOWN;
  const words = WORDS[figure.kind];
  const isHigherBetter = figure.kind === 'rate';
  if (interval.low > 0) return { text: words.higher, isBetter: isHigherBetter };
  if (interval.high < 0) return { text: words.lower, isBetter: !isHigherBetter };
  return NONE;
}

/** `p99`, `max`, `rate` or `errors`. */
export function nameOf({ figure }: ComparisonLine): string {
  if (figure.kind !== 'latency') return figure.kind;
  return figure.percentile === 100 ? 'max' : `p${figure.percentile}`;
}

/** Formats a value of one side, with its unit. */
function valueText({ figure }: ComparisonLine, value: number): string {
  if (figure.kind === 'rate') return formatRate(value);
  if (figure.kind === 'errors') return `${formatNumber(100 * value)} %`;
  return Number.isFinite(value) ? formatLatency(1_000 * value) : 'none';
}

/** Formats a change as `+11.1 %`; for errors, in percentage points. */
function changeText({ figure }: ComparisonLine, change: number): string {
  const unit = figure.kind === 'errors' ? 'pt' : '%';
  const percent = 100 * change;
  if (percent > MOST_PERCENT) return `> +${MOST_PERCENT} ${unit}`;
  const digits = Math.abs(percent) >= 100 ? 0 : Math.abs(percent) >= 10 ? 1 : 2;
  const shown = percent.toFixed(digits);
  const sign = percent > 0 ? '+' : '';
  return `${Number(shown) === 0 ? (0).toFixed(digits) : sign + shown} ${unit}`;
}

/** Formats the confidence interval of the difference. */
function intervalText(line: ComparisonLine, noun: Noun = 'requests'): string {
  const { interval } = line.difference;
  if (interval === undefined) return `too few ${noun} or runs`;
  return `${changeText(line, interval.low)} to ${changeText(line, interval.high)}`;
}

/** What a table shows of a line, in the order of {@link LINE_HEADS}. */
export function cellsOf(line: ComparisonLine, noun: Noun): string[] {
  return [
    nameOf(line),
    valueText(line, line.baseline),
    valueText(line, line.other),
    changeText(line, line.difference.value),
    intervalText(line, noun),
    findingOf(line).text,
  ];
}

export const LINE_HEADS = ['baseline', 'compared', 'change', '95 % confidence'] as const;

/** How much slower the other side is; undefined for errors, and where nothing is known. */
function slowdownOf({ figure, difference: { interval } }: ComparisonLine) {
  if (figure.kind === 'errors' || interval === undefined) return undefined;
  const { low, high } = interval;
  return figure.kind === 'rate' ? { low: -high, high: -low } : { low, high };
}

/** One line per failed gate. A gate fails if the whole interval lies beyond the bound. */
export function failedGates(
  lines: readonly ComparisonLine[],
  { maxSlower, maxMoreErrors }: CompareGates,
  noun: Noun = 'requests',
): string[] {
  return [
    ...(maxSlower === undefined ? [] : slowerThan(lines, maxSlower, noun)),
    ...(maxMoreErrors === undefined ? [] : moreErrorsThan(lines, maxMoreErrors, noun)),
  ];
}

/** Names the figures that passed a gate but may still be beyond it. */
export function undecidedGate(
  lines: readonly ComparisonLine[],
  { maxSlower: most = Number.POSITIVE_INFINITY }: CompareGates,
): string | undefined {
  const names = lines
    .filter((line) => {
      const { low, high } = slowdownOf(line) ?? { low: 0, high: 0 };
      return low <= most && high > most && Number.isFinite(line.difference.value);
    })
    .map(nameOf);
  if (names.length === 0) return undefined;
  return `${names.join(', ')} may still be slower by more than ${formatNumber(100 * most)} %: use longer runs, or more of them, to find out`;
}

function slowerThan(lines: readonly ComparisonLine[], most: number, noun: Noun): string[] {
  // If nothing can be judged, the gate fails. Runs as fast as possible have no latency.
  const decisive = lines.some(({ figure }) => figure.kind === 'latency') ? 'latency' : 'rate';
  const judged = lines.filter((line) => slowdownOf(line) !== undefined);
  if (judged.every(({ figure }) => figure.kind !== decisive)) {
    const what =
      decisive === 'latency' ? `${noun} to judge any latency` : 'rounds to judge the rate';
    return [`--max-slower: there are too few ${what}`];
  }
  return judged
    .filter((line) => (slowdownOf(line)?.low ?? 0) > most)
    .map((line) => failure(line, `--max-slower ${formatNumber(100 * most)}%`));
}

function moreErrorsThan(lines: readonly ComparisonLine[], most: number, noun: Noun): string[] {
  return lines.flatMap((line) => {
    if (line.figure.kind !== 'errors') return [];
    const { interval } = line.difference;
    if (interval === undefined) {
      return [`--max-more-errors: there was no ${noun.slice(0, -1)} to judge`];
    }
    const gate = `--max-more-errors ${formatNumber(100 * most)}%`;
    return interval.low > most ? [failure(line, gate)] : [];
  });
}

function failure(line: ComparisonLine, gate: string): string {
  const change = changeText(line, line.difference.value);
  return `${nameOf(line)} ${findingOf(line).text}: ${change} (${intervalText(line)}), beyond ${gate}`;
}
