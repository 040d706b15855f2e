import type { LoadResult } from '../../load/result.ts';
import { formatCount, formatLatency, type Paint } from '../format.ts';
import { widthOf } from '../layout.ts';
import { COLUMN, field, INDENT, LABEL } from './field.ts';
import { spanRows } from './spans.ts';

const PERCENTILES = [50, 90, 99, 99.9] as const;

/**
 * The latency of each phase. The meaning of the phases goes below the table if it does not fit
 * beside it.
 */
export function latencyTable(
  { tally, options }: LoadResult,
  paint: Paint,
  columns: number,
): string[] {
  if (tally.histograms.latency.totalCount === 0) {
    const noun = options.task === undefined ? 'response' : 'call';
    return [field('Latency', `unknown: there was no ${noun}`)];
  }
  const heads = [...PERCENTILES.map((p) => `p${p}`), 'max'];
  const width = Math.min(COLUMN, Math.max(9, Math.floor((columns - INDENT) / heads.length)));
  const head = heads.map((name) => name.padStart(width)).join('');
  const rows = spanRows(options).map(([span, label, meaning]) => {
    const histogram = tally.histograms[span];
    const values = [
      ...PERCENTILES.map((percentile) => histogram.getValueAtPercentile(percentile)),
      histogram.maxValue,
    ];
    const cells = values.map((value) => formatLatency(value).padStart(width)).join('');
    const row = span === 'latency' ? paint.bold(cells) : cells;
    const line = `    ${label.padEnd(LABEL - 2)}${row}`;
    return { line, label, meaning, full: `${line}   ${paint.dim(meaning)}` };
  });
  const fit = rows.every(({ full }) => widthOf(full) <= columns);
  const legend = rows.map(({ label, meaning }) => `${label}: ${meaning}`).join('; ');
  const lines = [
    field('Latency', paint.dim(head)),
    ...rows.map(({ line, full }) => (fit ? full : line)),
    ...(fit ? [] : [field('', paint.dim(legend))]),
  ];
  const waited = (['timed out', 'unsent'] as const)
    .map((kind) => [tally.errors.get(kind)?.count ?? 0, kind] as const)
    .filter(([count]) => count > 0)
    .map(([count, kind]) => `${formatCount(count)} ${kind}`);
  if (waited.length > 0) {
    lines.push(field('', `Includes ${withoutEnd(options)}, counted as the time they waited:`));
    lines.push(field('', `${waited.join(', ')}.`));
  }
  return lines;
}

/** Names what `timed out` and `unsent` have in common. */
function withoutEnd({ task }: LoadResult['options']): string {
  return task === undefined ? 'requests without a response' : 'calls that did not end';
}
