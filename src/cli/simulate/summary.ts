import type { Int32Histogram } from 'hdr-histogram-js';
import { printableLine, safeText } from '../../load/plan/redact.ts';
import type { Bound } from '../../simulate/bounds.ts';
import type { LimiterResult, SimulateResult } from '../../simulate/run.ts';
import {
  formatCount,
  formatLatency,
  formatNumber,
  formatRate,
  formatShare,
  formatSpan,
} from '../format.ts';
import type { Verdict } from '../report/page.ts';
import { aligned, field, INDENT, marked, type Paint, wrapped } from '../terminal.ts';

/** Renders the summary of a simulation for this many columns, at least 60. */
export function renderSummary(
  result: SimulateResult,
  paint: Paint,
  columns = Number.POSITIVE_INFINITY,
): string[] {
  return [
    '',
    ...arrivalLines(result, paint),
    '',
    ...tableLines(result, paint, columns),
    '',
    ...boundLines(result, paint),
    '',
  ].flatMap((line) => wrapped(line, columns, INDENT));
}

/** The number of arrivals, the time they span and their rate. */
export function describeArrivals({ count, durationMs }: SimulateResult): string {
  const rate = durationMs > 0 ? `, ${formatRate(count / (durationMs / 1_000))}` : '';
  return `${formatCount(count)} in ${formatSpan(durationMs)}${rate}`;
}

/** Describes what callers do without a token. */
export function describeCallers({ waitMs }: SimulateResult): string {
  return waitMs === 0 ? 'do not wait' : `wait up to ${formatSpan(waitMs)}`;
}

function arrivalLines(result: SimulateResult, paint: Paint): string[] {
  const { text, seed, file } = result.source;
  const lines = [
    field(
      'Arrivals',
      `${paint.bold(printableLine(text))}${seed === undefined ? '' : `, seed ${seed}`}`,
    ),
    field('', describeArrivals(result)),
  ];
  if (file !== undefined) lines.push(...fileLines(file, paint));
  const { server } = result;
  if (server !== undefined) lines.push(field('Server', server));
  return [...lines, field('Callers', describeCallers(result))];
}

function fileLines(file: NonNullable<SimulateResult['source']['file']>, paint: Paint): string[] {
  const { format, startedUs, unreadable, firstUnreadable = '', late } = file;
  const lines =
    format === undefined ? [] : [field('', paint.dim(`read as ${format}${since(startedUs)}`))];
  if (unreadable > 0) {
    const text = `lines without a timestamp, skipped: ${formatCount(unreadable)}`;
    lines.push(field('', paint.bad(`${text}; the first is ${safeText(firstUnreadable)}`)));
  }
  if (late > 0) {
    lines.push(
      field(
        '',
        `lines out of order, moved to the latest instant before them: ${formatCount(late)}`,
      ),
    );
  }
  return lines;
}

/** Shows timestamps as dates, unless they are too small to count from 1970. */
function since(startedUs: number | undefined): string {
  if (startedUs === undefined || startedUs < 1e14) return '';
  return `, from ${new Date(startedUs / 1_000).toISOString()}`;
}

/** The heads of the columns after the limiter. */
export function columnsOf({ waitMs, server }: SimulateResult): readonly string[] {
  const served = server === undefined ? [] : ['in flight', 'response p50', 'p99'];
  if (waitMs === 0) return ['admitted', 'refused', ...served];
  return ['at once', 'later', 'refused', 'gave up', 'wait p50', 'p99', 'longest', ...served];
}

/** Two percentiles and, optionally, the maximum; dashes without values. */
function timesOf(times: Int32Histogram, withLongest: boolean): string[] {
  const values = [times.getValueAtPercentile(50), times.getValueAtPercentile(99)];
  if (withLongest) values.push(times.maxValue);
  return values.map((us) => (times.totalCount === 0 ? '-' : formatLatency(us)));
}

/** The cells of one limiter, in the order of {@link columnsOf}. */
export function cellsOf(
  { outcomes }: LimiterResult,
  { count, waitMs, server }: SimulateResult,
): string[] {
  const share = (part: number) => `${formatCount(part)} ${formatShare(part, count).padStart(7)}`;
  const { admittedAtOnce, admittedLater, refusedAtOnce, gaveUp, waits, responses } = outcomes;
  const served =
    server === undefined ? [] : [formatCount(outcomes.mostInFlight), ...timesOf(responses, false)];
  if (waitMs === 0) return [share(admittedAtOnce), share(refusedAtOnce), ...served];
  const shares = [admittedAtOnce, admittedLater, refusedAtOnce, gaveUp].map(share);
  return [...shares, ...timesOf(waits, true), ...served];
}

function tableLines(result: SimulateResult, paint: Paint, columns: number): string[] {
  const heads = ['Limiter', ...columnsOf(result)];
  const rows = result.limiters.map((one) => [one.text, ...cellsOf(one, result)]);
  const [head = '', ...lines] = aligned([heads, ...rows], true);
  return head.length > columns ? blocks(heads, rows, paint) : [paint.dim(head), ...lines];
}

/** The transposed table for narrow terminals: one block per limiter. */
function blocks(
  [, ...heads]: readonly string[],
  rows: readonly (readonly string[])[],
  paint: Paint,
): string[] {
  const width = Math.max(...rows.flatMap(([, ...cells]) => cells.map(({ length }) => length)));
  return rows.flatMap(([name = '', ...cells], at) => [
    ...(at === 0 ? [] : ['']),
    `  ${paint.bold(name)}`,
    ...cells.map(
      (cell, column) =>
        `    ${paint.dim((heads[column] ?? '').padEnd(INDENT))}${cell.padStart(width)}`,
    ),
  ]);
}

/** Describes a bound and the limiter's peak. */
function describeBound({ promise, peak, allowed, held }: Bound): string {
  const came = formatNumber(Math.floor(peak * 1_000 + 0.5) / 1_000);
  return `${promise}; peak ${came} of ${formatNumber(allowed)}${held ? '' : ', BROKEN'}`;
}

/** Whether each limiter kept its bounds, and its peak. */
export function boundVerdicts({ limiters }: SimulateResult): Verdict[] {
  return limiters.flatMap(({ text, outcomes }) =>
    outcomes.bounds.map((bound, at) => ({
      isGood: bound.held,
      text: `${text.split(' + ')[at] ?? text}: ${describeBound(bound)}`,
    })),
  );
}

function boundLines(result: SimulateResult, paint: Paint): string[] {
  const lines = boundVerdicts(result).map((verdict) => `  ${marked(verdict, paint)}`);
  return [paint.dim('  Bounds'), ...lines];
}
