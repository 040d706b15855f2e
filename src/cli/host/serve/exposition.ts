import { SERIES } from '../../../integrations/metrics/series.ts';
import type { ReadRegion } from './watched.ts';

// The text format of Prometheus, version 0.0.4. What is exported of a limiter is in SERIES, for all
// ways of exporting.

export const CONTENT_TYPE = 'text/plain; version=0.0.4; charset=utf-8';

const PREFIX = 'zerotime_';

/** A metric of a whole region. */
interface RegionSeries {
  readonly kind: 'counter' | 'gauge';
  readonly name: string;
  readonly help: string;
  readonly value: (region: ReadRegion) => number | undefined;
}

/** The metrics of regions. */
export const REGION_SERIES: readonly RegionSeries[] = [
  {
    kind: 'gauge',
    name: 'region_up',
    help: 'Whether the region could be opened. If 0, it has no other values.',
    value: ({ region }) => (region === undefined ? 0 : 1),
  },
  {
    kind: 'gauge',
    name: 'region_size_bytes',
    help: 'The size of the region.',
    value: ({ region }) => region?.buffer.byteLength,
  },
  {
    kind: 'gauge',
    name: 'region_free_bytes',
    help: 'Bytes of the region that no limiter has taken.',
    value: ({ region }) => region?.bytesFree,
  },
  {
    kind: 'gauge',
    name: 'region_processes',
    help: 'Processes that have the region open, without this one.',
    value: ({ region, processes }) => region && processes.filter(({ isAlive }) => isAlive).length,
  },
  {
    kind: 'counter',
    name: 'region_recovered_processes_total',
    help: 'Processes that ended without closing the region.',
    value: ({ region }) => region?.recovered().processes,
  },
  {
    kind: 'counter',
    name: 'region_recovered_permits_total',
    help: 'Permits that came back from those processes.',
    value: ({ region }) => region?.recovered().permits,
  },
  {
    kind: 'counter',
    name: 'region_changes_total',
    help: 'Changes of limits by operators.',
    value: ({ region, view }) => region && (view.changes[0]?.number ?? 0),
  },
];

type Labels = Readonly<Record<string, string>>;
type Line = readonly [labels: Labels, value: number | undefined];

/** The metrics of all regions and their limiters. */
export function exposition(regions: readonly ReadRegion[]): string {
  const ofRegions = REGION_SERIES.map(({ kind, name, help, value }) =>
    family(
      name,
      kind,
      help,
      regions.map((one) => [{ region: one.view.path }, value(one)]),
    ),
  );
  const limiters = regions.flatMap((one) =>
    one.limiters.flatMap(({ reading, view: { name } }) =>
      reading === undefined ? [] : [{ labels: { region: one.view.path, limiter: name }, reading }],
    ),
  );
  const ofLimiters = SERIES.map(({ kind, name, help, value }) =>
    family(
      name,
      kind === 'counter' ? 'counter' : 'gauge',
      help,
      limiters.map(({ labels, reading }) => [labels, value(reading)]),
    ),
  );
  return [...ofRegions, ...ofLimiters].join('');
}

function family(name: string, type: string, help: string, lines: readonly Line[]): string {
  const full = PREFIX + name;
  const samples = lines.flatMap(([labels, value]) =>
    value === undefined ? [] : [`${full}{${labelsOf(labels)}} ${numberOf(value)}\n`],
  );
  if (samples.length === 0) return '';
  const text = help.replaceAll('\\', '\\\\').replaceAll('\n', '\\n');
  return `# HELP ${full} ${text}\n# TYPE ${full} ${type}\n${samples.join('')}`;
}

function labelsOf(labels: Labels): string {
  return Object.entries(labels)
    .map(([name, value]) => `${name}="${escaped(value)}"`)
    .join(',');
}

function escaped(value: string): string {
  return value.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n');
}

function numberOf(value: number): string {
  if (Number.isFinite(value)) return `${value}`;
  return Number.isNaN(value) ? 'NaN' : `${value > 0 ? '+' : '-'}Inf`;
}
