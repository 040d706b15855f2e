import type { ComparisonLine } from '../../load/comparison.ts';
import type { Paint } from '../format.ts';
import { wrapped } from '../layout.ts';
import type { Noun } from '../load/noun.ts';
import { safeText } from '../safe-text.ts';
import {
  assumptions,
  type Comparison,
  findingText,
  isNoWorse,
  type SideComparison,
} from './comparison.ts';
import { changeText, findingOf, intervalText, nameOf, valueText } from './verdict.ts';

const LABEL = 12;
const INDENT = LABEL + 2;
const COLUMN = 11;
const INTERVAL = 24;
/** Columns for a row of the table on one line; with fewer, a row takes two lines. */
const WIDE = 2 + 8 + 3 * COLUMN + 3 + INTERVAL + 3 + 'no difference seen'.length;

function field(label: string, text: string): string {
  return `  ${label.padEnd(LABEL)}${text}`;
}

/** Renders the summary of a comparison for this many columns, at least 60. */
export function renderSummary(
  comparison: Comparison,
  paint: Paint,
  columns = Number.POSITIVE_INFINITY,
): string[] {
  const { baseline, others, allowed, remarks } = comparison;
  const told = (label: string, texts: readonly string[]) =>
    texts.map((text, at) => field(at === 0 ? label : '', safeText(text)));
  return [
    '',
    field('Baseline', paint.bold(safeText(baseline.name))),
    ...told('Differs', allowed),
    ...told('Mind', remarks).map(paint.bad),
    '',
    ...others.flatMap((one) => [...sideLines(one, paint, columns), '']),
    ...told('Intervals', assumptions(comparison)).map(paint.dim),
    '',
  ].flatMap((line) => wrapped(line, columns, INDENT));
}

function sideLines(one: SideComparison, paint: Paint, columns: number): string[] {
  const finding = findingText(one.lines);
  const marked = isNoWorse(one) ? paint.good(`✔ ${finding}`) : paint.bad(`✘ ${finding}`);
  const cells = ['', 'baseline', 'compared', 'change'];
  const rest = columns < WIDE ? '' : `   ${'95 % confidence'.padEnd(INTERVAL)}`;
  return [
    field('Compared', paint.bold(safeText(one.side.name))),
    field('Verdict', marked),
    ...one.failures.map((text) => field('', paint.bad(`✘ gate failed: ${text}`))),
    ...(one.undecided === undefined ? [] : [field('', one.undecided)]),
    '',
    paint.dim(rowOf(cells) + rest.trimEnd()),
    ...one.lines.flatMap((line) => lineRows(line, one.noun, paint, columns)),
  ];
}

function rowOf([name = '', ...cells]: readonly string[]): string {
  return `  ${name.padEnd(8)}${cells.map((cell) => cell.padStart(COLUMN)).join('')}`;
}

function lineRows(line: ComparisonLine, noun: Noun, paint: Paint, columns: number): string[] {
  const { text, isBetter } = findingOf(line);
  const painted = isBetter === undefined ? text : (isBetter ? paint.good : paint.bad)(text);
  const row = rowOf([
    nameOf(line),
    valueText(line, line.baseline),
    valueText(line, line.other),
    changeText(line, line.difference.value),
  ]);
  const interval = intervalText(line, noun);
  if (columns < WIDE) return [row, `  ${' '.repeat(8)}   ${interval}: ${painted}`];
  return [`${row}   ${interval.padEnd(INTERVAL)}   ${painted}`];
}
