/** The width of a label. */
export const LABEL = 12;
/** The width of a column of figures. */
export const COLUMN = 10;

/** A line of the summary: a label, empty for further lines of a block, and its text. */
export function field(label: string, text: string): string {
  return `  ${label.padEnd(LABEL)}${text}`;
}

/** Where the text after a label begins. */
export const INDENT = LABEL + 2;
