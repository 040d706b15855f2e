import { markdownTable } from 'markdown-table';

/** Prints a table that can be pasted into a page of the documentation. */
export function printTable(
  caption: string,
  head: readonly string[],
  rows: readonly (readonly string[])[],
): void {
  const isNumeric = (column: number) => rows.every((row) => /^(\d|$)/.test(row[column] ?? ''));
  const align = head.map((_, column) => (isNumeric(column) ? 'r' : 'l'));
  console.log(`\n${caption}\n\n${markdownTable([head, ...rows], { align })}`);
}
