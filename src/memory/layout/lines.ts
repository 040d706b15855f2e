/** Size of a cache line. Cells are aligned to it, so that two limiters never share a line. */
export const LINE_BYTES = 64;
/** The first line of every cell is its header. */
export const CELL_HEADER_BYTES = LINE_BYTES;

/** Rounds up to whole cache lines. */
export function wholeLines(bytes: number): number {
  return Math.ceil(bytes / LINE_BYTES) * LINE_BYTES;
}
