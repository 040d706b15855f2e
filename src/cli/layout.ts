// biome-ignore lint/suspicious/noControlCharactersInRegex: styles take no room
const STYLES = /\u001b\[\d+m/g;

/** The columns of a terminal. Lines of a file or a pipe stay whole. */
export function columnsFor(stream: NodeJS.WriteStream): number {
  return stream.isTTY && stream.columns > 0 ? stream.columns : Number.POSITIVE_INFINITY;
}

/** The room that text takes on a terminal. */
export function widthOf(text: string): number {
  return text.replace(STYLES, '').length;
}

/** Between words. A number keeps its unit. */
const GAPS = /(?<=\s)(?=\S)(?!%|(?:ms|s|pt)\b)/;

/** Breaks a line between words, and indents what follows. A word that is too long stays whole. */
export function wrapped(line: string, columns: number, indent: number): string[] {
  if (widthOf(line) <= columns) return [line];
  const lines: string[] = [];
  let current = '';
  for (const word of line.split(GAPS)) {
    const isFull = widthOf((current + word).trimEnd()) > columns;
    // Nothing but the indentation is no line.
    if (isFull && current.trim() !== '') {
      lines.push(current.trimEnd());
      current = ' '.repeat(indent);
    }
    current += word;
  }
  return [...lines, current.trimEnd()];
}
