import type { LineChart, Series } from './page.ts';

/** A line with its own x values. */
export interface PointLine extends Omit<Series, 'values'> {
  /** Pairs of x and y, by ascending x. */
  readonly points: readonly (readonly [x: number, y: number])[];
}

/** Puts lines with different x values into one chart, with gaps where a line has no point. */
export function onOneAxis(lines: readonly PointLine[]): Pick<LineChart, 'x' | 'series'> {
  const all = lines.flatMap(({ points }) => points.map(([x]) => x));
  const x = [...new Set(all)].sort((a, b) => a - b);
  const series = lines.map(({ points, ...line }) => {
    const values = new Map(points);
    return { ...line, values: x.map((at) => values.get(at) ?? null) };
  });
  return { x, series };
}
