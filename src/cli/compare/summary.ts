import type { ComparisonLine } from '../../load/judge/comparison.ts';
import { safeTextLine } from '../../load/plan/redact.ts';
import type { Noun } from '../format.ts';
import { field, INDENT, labelled, marked, type Paint, wrapped } from '../terminal.ts';
import { assumptions, type Comparison, type SideComparison, verdictsOf } from './comparison.ts';
import { cellsOf, findingOf, LINE_HEADS } from './verdict.ts';

const COLUMN = 11;
const INTERVAL = 24;
/** Columns for a row of the table on one line; with fewer, a row takes two lines. */
const WIDE = 2 + 8 + 3 * COLUMN + 3 + INTERVAL + 3 + 'no difference seen'.length;

/** Renders the summary of a comparison for this many columns, at least 60. */
export function renderSummary(
  comparison: Comparison,
  paint: Paint,
  columns = Number.POSITIVE_INFINITY,
): string[] {
  const { baseline, others, allowed, remarks } = comparison;
  const told = (label: string, texts: readonly string[]) =>
    labelled(label, texts.map(safeTextLine));
  return [
    '',
    field('Baseline', paint.bold(safeTextLine(baseline.name))),
    ...told('Differs', allowed),
    ...told('Mind', remarks).map(paint.bad),
    '',
    ...others.flatMap((one) => [...sideLines(one, comparison.noun, paint, columns), '']),
    ...told('Intervals', assumptions(comparison)).map(paint.dim),
    '',
  ].flatMap((line) => wrapped(line, columns, INDENT));
}

function sideLines(one: SideComparison, noun: Noun, paint: Paint, columns: number): string[] {
  return [
    field('Compared', paint.bold(safeTextLine(one.side.name))),
    ...labelled('Verdict', [
      ...verdictsOf(one).map((verdict) => marked(verdict, paint)),
      ...(one.undecided === undefined ? [] : [one.undecided]),
    ]),
    '',
    paint.dim(rowOf(['', ...LINE_HEADS], columns)),
    ...one.lines.flatMap((line) => lineRows(line, noun, paint, columns)),
  ];
}

/** Without the last cell, the interval, if there is no room for it. */
function rowOf([name = '', ...cells]: readonly string[], columns: number): string {
  const figures = cells.slice(0, 3).map((cell) => cell.padStart(COLUMN));
  const row = `  ${name.padEnd(8)}${figures.join('')}`;
  return columns < WIDE ? row : `${row}   ${cells[3]}`;
}

function lineRows(line: ComparisonLine, noun: Noun, paint: Paint, columns: number): string[] {
  const { text, isBetter } = findingOf(line);
  const painted = isBetter === undefined ? text : (isBetter ? paint.good : paint.bad)(text);
  const cells = cellsOf(line, noun);
  const [interval = ''] = cells.slice(4);
  const row = rowOf(cells, columns);
  if (columns < WIDE) return [row, `  ${' '.repeat(8)}   ${interval}: ${painted}`];
  return [`${row}${' '.repeat(Math.max(0, INTERVAL - interval.length))}   ${painted}`];
}
