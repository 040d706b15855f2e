import type { LoadResult } from '../../load/result.ts';
import {
  formatCount,
  formatLatency,
  formatNumber,
  formatRate,
  formatShare,
  formatSpan,
  type Paint,
  sparkline,
} from '../format.ts';
import { safeText } from '../safe-text.ts';
import { COLUMN, field, LABEL } from './field.ts';
import { nounOf } from './noun.ts';
import { responseLines } from './responses.ts';
import { spanRows } from './spans.ts';
import { RATE_TOLERANCE, verdictLines } from './verdict.ts';

/** With more threads than this, only the range of their shares is shown. */
const MOST_THREADS_LISTED = 16;
const SPARKLINE_WIDTH = 60;

const PERCENTILES = [50, 90, 99, 99.9] as const;

/** The lines of a run's summary. */
export function renderSummary(result: LoadResult, paint: Paint): string[] {
  return [
    '',
    ...verdictBlock(result, paint),
    '',
    ...rateLines(result, paint),
    '',
    ...guaranteeLines(result, paint),
    '',
    ...latencyLines(result, paint),
    '',
    ...responseLines(result.tally, nounOf(result.options), paint),
    ...blockedLines(result, paint),
    '',
    ...threadLines(result, paint),
    '',
  ];
}

/** The verdict, before any figure. */
function verdictBlock(result: LoadResult, paint: Paint): string[] {
  return verdictLines(result).map(({ isGood, text }, index) => {
    const line = isGood ? paint.good(`✔ ${text}`) : paint.bad(`✘ ${text}`);
    return field(index === 0 ? 'Verdict' : '', line);
  });
}

function rateLines(result: LoadResult, paint: Paint): string[] {
  const { options, url, elapsedMs, sent, achievedRate, wantedRate, interrupted } = result;
  const noun = nounOf(options);
  const off = achievedRate / wantedRate - 1;
  const met = Math.abs(off) <= RATE_TOLERANCE;
  const offText = `${off < 0 ? '-' : '+'}${(100 * Math.abs(off)).toFixed(2)} %`;
  const lines = [
    field(
      'Target',
      `${paint.bold(safeText(url))}${options.url === undefined ? ' (embedded server)' : ''}`,
    ),
    field('Rate', wantedText(result)),
    field(
      '',
      `${paint.bold(`${formatRate(achievedRate)} achieved`)}  ` +
        `${met ? paint.good(`✔ ${offText}`) : paint.bad(offText)}  ` +
        `${formatCount(sent)} ${noun} in ${formatSpan(Math.round(elapsedMs))}` +
        `${interrupted ? ', ended early' : ''}`,
    ),
  ];
  lines.push(...warmUpLine(result));
  const bars = rateBars(result);
  if (bars !== '') lines.push(field('', paint.dim(bars)));
  return [...lines, ...shortfallLines(result, paint)];
}

/** The requests that count nowhere. */
function warmUpLine({ warmUp: { sent, failed }, options }: LoadResult): string[] {
  if (sent === 0) return [];
  const outcome = failed === 0 ? '' : `, of which ${formatCount(failed)} failed`;
  return [field('', `after a warm-up of ${formatCount(sent)} ${nounOf(options)}${outcome}`)];
}

/** The requested rate, or the range over which it moved. */
export function wantedText({ rateRange, wantedRate, options }: LoadResult): string {
  if (rateRange === undefined) return `${formatNumber(options.rate)}/s wanted`;
  const [lowest, highest] = rateRange.map(formatRate);
  return `${formatRate(wantedRate)} wanted on average, from ${lowest} to ${highest}`;
}

/** Why the rate was missed, and what to do about it. */
function shortfallLines(result: LoadResult, paint: Paint): string[] {
  const { wantedRate, elapsedMs, admitted, sent, threads, options } = result;
  // A crashed thread's unreported requests are missing too; the crash is reported separately.
  if (threads.some(({ crash }) => crash !== undefined)) return [];
  const lines: string[] = [];
  const unsent = admitted - sent;
  if (unsent > 0 && options.task !== undefined) {
    lines.push(
      field('', paint.bad(`${formatCount(unsent)} calls were not begun in time:`)),
      field('', 'the task or this client is too slow for this rate, or --concurrency too little.'),
    );
  } else if (unsent > 0) {
    lines.push(
      field('', paint.bad(`${formatCount(unsent)} requests found no free connection in time:`)),
      field('', 'the target or this client is too slow for this rate, or --connections too few.'),
    );
  }
  const slots = (wantedRate * elapsedMs) / 1_000;
  const lost = Math.floor(slots) - admitted;
  if (lost > slots * RATE_TOLERANCE) {
    lines.push(
      field('', paint.bad(`${formatCount(lost)} slots of the schedule were lost:`)),
      field('', 'this client is too busy. A higher --burst lets it catch up after a stall.'),
    );
  }
  return lines;
}

/** The admissions over time; all bars cover the same number of tenths of a second. */
function rateBars({ admittedPer100Ms: counts, wantedRate, rateRange }: LoadResult): string {
  // With only a few requests per bar, the alignment of their slots would make the bars jump.
  const width = Math.max(Math.ceil(counts.length / SPARKLINE_WIDTH), Math.ceil(200 / wantedRate));
  const bars: number[] = [];
  for (let at = 0; at + width <= counts.length; at += width) {
    bars.push(counts.slice(at, at + width).reduce((sum, count) => sum + count, 0));
  }
  if (bars.length < 2) return '';
  // The target rate fills seven eighths, which leaves room to show an excess.
  const line = sparkline(bars, ((rateRange?.[1] ?? wantedRate) / 10) * width * (8 / 7));
  return `${line} each ${formatSpan(100 * width)}`;
}

function guaranteeLines({ guarantee, options, rateRange }: LoadResult, paint: Paint): string[] {
  const { held, intervals, tightest } = guarantee;
  const noun = nounOf(options);
  const flow =
    rateRange === undefined ? `${formatNumber(options.rate)} x t` : 'each rate x its time';
  const limit = `${formatNumber(options.burst)} + ${flow}`;
  const lines = [
    field(
      'Guarantee',
      held
        ? `${paint.good('✔ held')}: in every span of t seconds at most ${limit} ${noun}`
        : `${paint.bad('✘ BROKEN')}: in some span of t seconds more than ${limit} ${noun}`,
    ),
  ];
  if (tightest !== undefined) {
    const { admitted, allowed, lengthUs } = tightest;
    lines.push(
      field(
        '',
        paint.dim(
          `${held ? 'tightest' : 'worst'} of ${formatCount(intervals)} spans: ${formatCount(admitted)} in ` +
            `${formatNumber(lengthUs / 1e3)} ms, ${formatNumber(allowed)} allowed`,
        ),
      ),
    );
  }
  return lines;
}

function latencyLines({ tally, options }: LoadResult, paint: Paint): string[] {
  if (tally.histograms.latency.totalCount === 0) {
    const noun = options.task === undefined ? 'response' : 'call';
    return [field('Latency', `unknown: there was no ${noun}`)];
  }
  const heads = [...PERCENTILES.map((p) => `p${p}`), 'max'];
  const lines = [field('Latency', paint.dim(heads.map((head) => head.padStart(COLUMN)).join('')))];
  for (const [span, label, meaning] of spanRows(options)) {
    const histogram = tally.histograms[span];
    const values = [
      ...PERCENTILES.map((percentile) => histogram.getValueAtPercentile(percentile)),
      histogram.maxValue,
    ];
    const cells = values.map((value) => formatLatency(value).padStart(COLUMN)).join('');
    const row = span === 'latency' ? paint.bold(cells) : cells;
    lines.push(`    ${label.padEnd(LABEL - 2)}${row}   ${paint.dim(meaning)}`);
  }
  const waited = (['timed out', 'unsent'] as const)
    .map((kind) => [tally.errors.get(kind)?.count ?? 0, kind] as const)
    .filter(([count]) => count > 0)
    .map(([count, kind]) => `${formatCount(count)} ${kind}`);
  if (waited.length > 0) {
    lines.push(field('', `Includes ${withoutEnd(options)}, at the time that they waited:`));
    lines.push(field('', `${waited.join(', ')}.`));
  }
  return lines;
}

/** Calls that kept others of their thread waiting. */
function blockedLines({ tally: { blocked } }: LoadResult, paint: Paint): string[] {
  if (blocked.calls === 0) return [];
  const calls = blocked.calls === 1 ? '1 call' : `${formatCount(blocked.calls)} calls`;
  const longest = formatLatency(blocked.longestUs);
  return [
    field('Blocked', paint.bad(`${calls} kept a thread from all else, for up to ${longest}`)),
  ];
}

/** What `timed out` and `unsent` are. */
function withoutEnd({ task }: LoadResult['options']): string {
  return task === undefined ? 'requests without a response' : 'calls that did not end';
}

function threadLines({ threads, admitted, options }: LoadResult, paint: Paint): string[] {
  const crashed = threads.flatMap(({ crash }, index) =>
    crash === undefined
      ? []
      : [
          field(
            '',
            paint.bad(
              `thread ${index + 1} crashed, its results are incomplete: ${safeText(crash)}`,
            ),
          ),
        ],
  );
  const counts = threads.map((thread) => thread.admitted);
  if (threads.length > MOST_THREADS_LISTED) {
    const range = [Math.min(...counts), Math.max(...counts)].map((n) => formatShare(n, admitted));
    return [
      field(
        'Threads',
        `${threads.length}, each with ${range.join(' to ')} of the ${nounOf(options)}`,
      ),
      ...crashed,
    ];
  }
  return [
    ...counts.map((count, index) =>
      field(
        index === 0 ? 'Threads' : '',
        `${String(index + 1).padEnd(4)}${formatCount(count).padStart(COLUMN)}` +
          `${formatShare(count, admitted).padStart(COLUMN)}`,
      ),
    ),
    ...crashed,
  ];
}
