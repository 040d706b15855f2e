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
import { wrapped } from '../layout.ts';
import { safeText } from '../safe-text.ts';
import { arrivalText } from './arrival-options.ts';
import { COLUMN, field, INDENT } from './field.ts';
import { guaranteeLines } from './guarantee-lines.ts';
import { latencyTable } from './latency-table.ts';
import { countOf, nounOf } from './noun.ts';
import { responseLines } from './responses.ts';
import { isExample, marked, RATE_TOLERANCE, verdictLines } from './verdict.ts';

/** With more threads, only the range of their shares is shown. */
const MOST_THREADS_LISTED = 16;
const SPARKLINE_WIDTH = 60;
/** Room for `each 1 min 20 s` after the sparkline. */
const SPARKLINE_LEGEND = 16;

/** Renders the summary of a run for this many columns, at least 60. */
export function renderSummary(
  result: LoadResult,
  paint: Paint,
  columns = Number.POSITIVE_INFINITY,
): string[] {
  return [
    '',
    ...verdictBlock(result, paint),
    '',
    ...rateLines(result, paint, columns),
    '',
    ...guaranteeLines(result, paint),
    '',
    ...latencyTable(result, paint, columns),
    '',
    ...responseLines(result.tally, nounOf(result.options), paint),
    ...blockedLines(result, paint),
    '',
    ...threadLines(result, paint),
    '',
    ...nextLines(result),
  ].flatMap((line) => wrapped(line, columns, INDENT));
}

/** The verdict, which precedes all figures. */
function verdictBlock(result: LoadResult, paint: Paint): string[] {
  return verdictLines(result).map((line, index) =>
    field(index === 0 ? 'Verdict' : '', marked(line, paint)),
  );
}

function rateLines(result: LoadResult, paint: Paint, columns: number): string[] {
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
        `${countOf(sent, noun)} in ${formatSpan(Math.round(elapsedMs))}` +
        `${interrupted ? ', ended early' : ''}`,
    ),
  ];
  lines.push(...warmUpLine(result));
  const spacing = arrivalText(options.arrivals);
  if (spacing !== undefined) lines.push(field('', `arrivals ${spacing}`));
  const bars = rateBars(result, columns);
  if (bars !== '') lines.push(field('', paint.dim(bars)));
  return [...lines, ...shortfallLines(result, paint)];
}

/** The line about the warm-up. */
function warmUpLine({ warmUp: { sent, failed }, options }: LoadResult): string[] {
  if (sent === 0) return [];
  const outcome = failed === 0 ? '' : `, of which ${formatCount(failed)} failed`;
  return [field('', `after a warm-up of ${countOf(sent, nounOf(options))}${outcome}`)];
}

/** The requested rate, or the range over which it moved. */
export function wantedText({ rateRange, wantedRate, options }: LoadResult): string {
  if (rateRange === undefined) return `${formatNumber(options.rate)}/s wanted`;
  const [lowest, highest] = rateRange.map(formatRate);
  return `${formatRate(wantedRate)} wanted on average, from ${lowest} to ${highest}`;
}

/** Why the rate was missed and what to do about it. */
function shortfallLines(result: LoadResult, paint: Paint): string[] {
  const { wantedRate, elapsedMs, admitted, sent, threads, options } = result;
  // A crashed thread's unreported requests are missing, too. The crash has its own line.
  if (threads.some(({ crash }) => crash !== undefined)) return [];
  const lines: string[] = [];
  const unsent = admitted - sent;
  if (unsent > 0 && options.task !== undefined) {
    lines.push(
      field(
        '',
        paint.bad(
          `${countOf(unsent, 'calls')} ${unsent === 1 ? 'was' : 'were'} not started in time:`,
        ),
      ),
      field('', 'the task or this client is too slow for this rate, or --concurrency too low.'),
    );
  } else if (unsent > 0) {
    lines.push(
      field('', paint.bad(`${countOf(unsent, 'requests')} found no free connection in time:`)),
      field('', 'the target or this client is too slow for this rate, or --connections too low.'),
    );
  }
  const slots = (wantedRate * elapsedMs) / 1_000;
  const lost = Math.floor(slots) - admitted;
  if (lost > slots * RATE_TOLERANCE) {
    lines.push(
      field(
        '',
        paint.bad(`${countOf(lost, 'slots')} of the schedule ${lost === 1 ? 'was' : 'were'} lost:`),
      ),
      field('', 'this client is too busy. A higher --burst lets it catch up after a stall.'),
    );
  }
  return lines;
}

/** A sparkline of admissions. Each bar covers the same number of 100 ms slots. */
function rateBars(
  { admittedPer100Ms: counts, wantedRate, rateRange }: LoadResult,
  columns: number,
): string {
  const room = Math.max(1, Math.min(SPARKLINE_WIDTH, columns - INDENT - SPARKLINE_LEGEND));
  // With few requests per bar, bars would jump with the alignment of the slots.
  const width = Math.max(Math.ceil(counts.length / room), Math.ceil(200 / wantedRate));
  const bars: number[] = [];
  for (let at = 0; at + width <= counts.length; at += width) {
    bars.push(counts.slice(at, at + width).reduce((sum, count) => sum + count, 0));
  }
  if (bars.length < 2) return '';
  // The target rate fills seven eighths, to leave room for an excess.
  const line = sparkline(bars, ((rateRange?.[1] ?? wantedRate) / 10) * width * (8 / 7));
  return `${line} each ${formatSpan(100 * width)}`;
}

/** The line about calls that blocked their thread. */
function blockedLines({ tally: { blocked } }: LoadResult, paint: Paint): string[] {
  if (blocked.calls === 0) return [];
  const calls = countOf(blocked.calls, 'calls');
  const longest = formatLatency(blocked.longestUs);
  return [field('Blocked', paint.bad(`${calls} blocked a thread, for up to ${longest}`))];
}

/** What to do after a first run. */
function nextLines({ options }: LoadResult): string[] {
  if (!isExample(options)) return [];
  const text = 'zerotime load URL measures your server; zerotime load --help lists all options';
  return [field('Next', text), ''];
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
