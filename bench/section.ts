import { markdownTable } from 'markdown-table';

/** An aim and its measurement. A missed aim fails nothing. */
export interface AimRow {
  readonly measure: string;
  readonly measured: string;
  readonly aim: string;
}

/** An image in docs/images. */
export interface Picture {
  /** File name without extension. */
  readonly name: string;
  readonly alt: string;
  readonly svg: string;
}

/** A chapter of the report: the results of one part of the bench. */
export interface Section {
  readonly title: string;
  /** How to read the table, in Markdown. */
  readonly text: string;
  readonly head: readonly string[];
  readonly rows: readonly (readonly string[])[];
  readonly aims?: readonly AimRow[];
  readonly pictures?: readonly Picture[];
  /** Versions of the measured programs. */
  readonly versions?: readonly string[];
}

/** A Markdown table with numeric columns aligned to the right. */
export function tableOf(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const isNumeric = (column: number) => rows.every((row) => /^([\d-]|$)/.test(row[column] ?? ''));
  const align = head.map((_, column) => (isNumeric(column) ? 'r' : 'l'));
  return markdownTable([head, ...rows], { align });
}

/** The chapter without its aims and pictures. */
export function markdownOf({ title, text, head, rows }: Section): string {
  return `## ${title}\n\n${text}\n\n${tableOf(head, rows)}`;
}

/** The aims and their measurements. */
export function markdownOfAims(aims: readonly AimRow[]): string {
  const rows = aims.map(({ measure, measured, aim }) => [measure, measured, aim]);
  return `A missed aim fails no check.\n\n${tableOf(['measure', 'measured', 'aim'], rows)}`;
}
