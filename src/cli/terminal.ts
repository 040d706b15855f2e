import * as util from 'node:util';
import type { Verdict } from './report/page.ts';

/** The columns of a terminal. Lines to a file or a pipe are not wrapped. */
export function columnsFor(stream: NodeJS.WriteStream): number {
  return stream.isTTY && stream.columns > 0 ? stream.columns : Number.POSITIVE_INFINITY;
}

/** The width of text on a terminal. */
export function widthOf(text: string): number {
  return util.stripVTControlCharacters(text).length;
}

/** Gaps between words. A number stays with its unit. */
const GAPS = /(?<=\s)(?=\S)(?!%|(?:ms|s|pt)\b)/;

/** Breaks a line between words and indents the continuation lines. Long words stay whole. */
export function wrapped(line: string, columns: number, indent: number): string[] {
  if (widthOf(line) <= columns) return [line];
  const lines: string[] = [];
  let current = '';
  for (const word of line.split(GAPS)) {
    const isFull = widthOf((current + word).trimEnd()) > columns;
    // Don't emit a line of indentation only.
    if (isFull && current.trim() !== '') {
      lines.push(current.trimEnd());
      current = ' '.repeat(indent);
    }
    current += word;
  }
  return [...lines, current.trimEnd()];
}

/** Aligns rows in columns. Figures, in all columns but the first, are aligned to the right. */
export function aligned(rows: readonly (readonly string[])[], hasFigures = false): string[] {
  const widths: number[] = [];
  for (const row of rows) {
    for (const [i, cell] of row.entries()) widths[i] = Math.max(widths[i] ?? 0, cell.length);
  }
  const padded = (cell: string, i: number) =>
    hasFigures && i > 0 ? cell.padStart(widths[i] ?? 0) : cell.padEnd(widths[i] ?? 0);
  const gap = hasFigures ? '   ' : '  ';
  return rows.map((row) => `  ${row.map(padded).join(gap)}`.trimEnd());
}

/** Width of a label. */
export const LABEL = 12;
/** Column at which the text after a label starts. */
export const INDENT = LABEL + 2;

/** A line of a summary: a label, which is empty after the first line of a block, and text. */
export function field(label: string, text: string): string {
  return `  ${label.padEnd(LABEL)}${text}`;
}

/** Lines of a block with one label. */
export function labelled(label: string, texts: readonly string[]): string[] {
  return texts.map((text, at) => field(at === 0 ? label : '', text));
}

/** The mark before a line of the verdict. */
export function marked({ isGood, isNote, text }: Verdict, paint: Paint): string {
  if (isNote === true) return `– ${text}`;
  return isGood ? paint.good(`✔ ${text}`) : paint.bad(`✘ ${text}`);
}

/** Styles text for a terminal; the plain variant returns it unchanged. */
export interface Paint {
  bold(text: string): string;
  dim(text: string): string;
  good(text: string): string;
  bad(text: string): string;
}

const asItIs = (text: string) => text;

export const PLAIN: Paint = { bold: asItIs, dim: asItIs, good: asItIs, bad: asItIs };

type Style = 'bold' | 'dim' | 'green' | 'red';

/** Plain text before Node.js 20.12. `paintFor` decides per stream whether to style at all. */
function styled(style: Style): (text: string) => string {
  return (text) => util.styleText?.(style, text, { validateStream: false }) ?? text;
}

export const COLOURS: Paint = {
  bold: styled('bold'),
  dim: styled('dim'),
  good: styled('green'),
  bad: styled('red'),
};

/** Styles for a stream; plain if the terminal has no colours or NO_COLOR is set. */
export function paintFor(stream: NodeJS.WriteStream): Paint {
  return stream.isTTY && stream.hasColors() ? COLOURS : PLAIN;
}
