import type { LineChart, Series } from './page.ts';

/** A line whose points need not be where those of others are. */
export interface PointLine extends Omit<Series, 'values'> {
  /** Pairs of x and y, by ascending x. */
  readonly points: readonly (readonly [x: number, y: number])[];
}

/** Lines with points of their own in one chart: gaps where only others have a point. */
export function onOneAxis(lines: readonly PointLine[]): Pick<LineChart, 'x' | 'series'> {
  const all = lines.flatMap(({ points }) => points.map(([x]) => x));
  const x = [...new Set(all)].sort((a, b) => a - b);
  const series = lines.map(({ points, ...line }) => {
    const values = new Map(points);
    return { ...line, values: x.map((at) => values.get(at) ?? null) };
  });
  return { x, series };
}
