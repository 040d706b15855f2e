/** Size of a cache line. Cells are aligned to it, so that two limiters never share one. */
export const LINE_BYTES = 64;
/** Size of a cell's header: its first line. */
export const CELL_HEADER_BYTES = LINE_BYTES;

/** Rounds up to whole cache lines. */
export function wholeLines(bytes: number): number {
  return Math.ceil(bytes / LINE_BYTES) * LINE_BYTES;
}
