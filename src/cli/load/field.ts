/** Width of a label. */
export const LABEL = 12;
/** Width of a column of figures. */
export const COLUMN = 10;

/** A line of the summary: a label, which is empty after the first line of a block, and text. */
export function field(label: string, text: string): string {
  return `  ${label.padEnd(LABEL)}${text}`;
}

/** Column at which the text after a label starts. */
export const INDENT = LABEL + 2;
