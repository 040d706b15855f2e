import { markdownTable } from 'markdown-table';

/** What was aimed at, and what was measured: never a reason to fail. */
export interface AimRow {
  readonly measure: string;
  readonly measured: string;
  readonly aim: string;
}

/** An image of docs/images. */
export interface Picture {
  /** Its file's name, without its ending. */
  readonly name: string;
  readonly alt: string;
  readonly svg: string;
}

/** What one part of the bench found: a chapter of the report. */
export interface Section {
  readonly title: string;
  /** How to read the table: Markdown. */
  readonly text: string;
  readonly head: readonly string[];
  readonly rows: readonly (readonly string[])[];
  readonly aims?: readonly AimRow[];
  readonly pictures?: readonly Picture[];
  /** Of the programs that it was measured with. */
  readonly versions?: readonly string[];
}

/** A Markdown table; columns of numbers are aligned to the right. */
function tableOf(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const isNumeric = (column: number) => rows.every((row) => /^([\d-]|$)/.test(row[column] ?? ''));
  const align = head.map((_, column) => (isNumeric(column) ? 'r' : 'l'));
  return markdownTable([head, ...rows], { align });
}

/** The chapter, without its pictures. */
export function markdownOf({ title, text, head, rows }: Section): string {
  return `## ${title}\n\n${text}\n\n${tableOf(head, rows)}`;
}

/** The aims of all sections beside what was measured, ratios first. */
export function aimsOf(sections: readonly Section[]): Section {
  const aims = sections.flatMap((section) => section.aims ?? []);
  return {
    title: 'What was aimed at',
    text: 'Medians (min..max) where there are rounds. An aim is no check: nothing fails where it is missed.',
    head: ['measure', 'measured', 'aim'],
    rows: aims.map(({ measure, measured, aim }) => [measure, measured, aim]),
  };
}
