import { parse, View } from 'vega';
import { compile, type TopLevelSpec } from 'vega-lite';
import type { Picture } from './report.ts';
import { PLAIN } from './variants.ts';

/** Matches the style of the other images in docs. */
const LOOKS = {
  background: '#fff',
  padding: 14,
  config: {
    font: "system-ui, -apple-system, 'Segoe UI', Helvetica, Arial, sans-serif",
    axis: { labelColor: '#57606a', titleColor: '#57606a', gridColor: '#d8dee4' },
    legend: { labelColor: '#57606a', titleColor: '#57606a', labelLimit: 300 },
    header: { labelColor: '#1f2328', labelFontWeight: 'bold' },
    view: { stroke: null },
  },
} as const;

async function draw(name: string, alt: string, plot: TopLevelSpec): Promise<Picture> {
  const view = new View(parse(compile(plot).spec), { renderer: 'none' });
  const svg = await view.toSVG();
  view.finalize();
  return { name, alt, svg: `${svg}\n` };
}

/** Calls per second of all threads of a peer together. */
export interface Throughput {
  readonly peer: string;
  readonly load: string;
  readonly threads: number;
  readonly callsPerSecond: number;
}

/** Calls per second by number of threads, for each load. */
export function plotThroughput(points: readonly Throughput[]): Promise<Picture> {
  const alt = 'Calls per second on one shared bucket by number of threads, for each peer';
  // The order of the table.
  const sort = [...new Set(points.map(({ peer }) => peer))];
  const loads = [...new Set(points.map(({ load }) => load))];
  return draw('throughput-by-threads', alt, {
    ...LOOKS,
    data: { values: [...points] },
    facet: { column: { field: 'load', sort: loads, title: null } },
    spec: {
      width: 190,
      height: 300,
      mark: { type: 'line', point: { size: 45 } },
      encoding: {
        x: { field: 'threads', type: 'ordinal', axis: { labelAngle: 0 } },
        y: {
          field: 'callsPerSecond',
          type: 'quantitative',
          scale: { type: 'log' },
          axis: { title: 'calls per second', format: '~s', tickCount: 6 },
        },
        color: {
          field: 'peer',
          type: 'nominal',
          sort,
          title: null,
          scale: { scheme: 'tableau20' },
        },
        shape: { field: 'peer', type: 'nominal', sort, title: null },
        strokeWidth: {
          condition: { test: `datum.peer === '${PLAIN.name}'`, value: 3 },
          value: 1.5,
        },
      },
    },
  });
}

/** The number of requests in one time slice. */
export interface Slice {
  readonly generator: string;
  readonly seconds: number;
  readonly requests: number;
}

/** The arrivals at the server over time, one generator above the other. */
export function plotAdmissions(slices: readonly Slice[], sliceMs: number): Promise<Picture> {
  const sort = [...new Set(slices.map(({ generator }) => generator))];
  const alt = `Requests that came to the server in each ${sliceMs} ms, for each load generator`;
  return draw('admissions-over-time', alt, {
    ...LOOKS,
    data: { values: [...slices] },
    facet: { row: { field: 'generator', sort, title: null, header: { labelOrient: 'top' } } },
    spec: {
      width: 640,
      height: 120,
      mark: { type: 'area', interpolate: 'step-after', line: { strokeWidth: 1.5 }, opacity: 0.25 },
      encoding: {
        x: { field: 'seconds', type: 'quantitative', axis: { title: 'seconds' } },
        y: {
          field: 'requests',
          type: 'quantitative',
          axis: { title: `requests in ${sliceMs} ms`, tickCount: 4 },
        },
      },
    },
  });
}
