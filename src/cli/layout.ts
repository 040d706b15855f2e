// biome-ignore lint/suspicious/noControlCharactersInRegex: styles have no width
const STYLES = /\u001b\[\d+m/g;

/** The columns of a terminal. Lines to a file or a pipe are not wrapped. */
export function columnsFor(stream: NodeJS.WriteStream): number {
  return stream.isTTY && stream.columns > 0 ? stream.columns : Number.POSITIVE_INFINITY;
}

/** The width of text on a terminal. */
export function widthOf(text: string): number {
  return text.replace(STYLES, '').length;
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
