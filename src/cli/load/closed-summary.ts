import type { RoundThread } from '../../load/api/closed-figures.ts';
import type { DriveResult } from '../../load/api/drive-result.ts';
import { percentileMs } from '../../load/api/times.ts';
import {
  formatCount,
  formatRate,
  formatShare,
  formatShortTime,
  formatSpan,
  type Paint,
} from '../format.ts';
import { wrapped } from '../layout.ts';
import type { Verdict } from '../report/page.ts';
import { safeText } from '../safe-text.ts';
import { COLUMN, field, INDENT } from './field.ts';
import { countOf } from './noun.ts';
import { responseLines } from './responses.ts';
import { counted } from './threads-text.ts';
import { marked } from './verdict.ts';

/** With more rounds or threads, only their range is shown. */
const MOST_LISTED = 16;
const WIDE = 16;
const PERCENTILES = [50, 90, 99, 99.9, 100] as const;
const NS_PER_MS = 1e6;

/** The summary of a run with `--rate max`; it fits this many columns, from 60. */
export function renderClosedSummary(
  result: DriveResult,
  paint: Paint,
  columns = Number.POSITIVE_INFINITY,
): string[] {
  return [
    '',
    ...closedVerdict(result).map((line, at) =>
      field(at === 0 ? 'Verdict' : '', marked(line, paint)),
    ),
    '',
    ...rateLines(result, paint),
    '',
    ...roundLines(result),
    '',
    ...timeLines(result, paint),
    '',
    ...responseLines(
      {
        counters: result.calls,
        statusCodes: new Map(),
        errors: new Map(result.errors.map((error) => [error.kind, error])),
      },
      'calls',
      paint,
    ),
    '',
    ...threadLines(result, paint),
    '',
  ].flatMap((line) => wrapped(line, columns, INDENT));
}

/** Whether the figures are to be trusted, before any of them. */
export function closedVerdict({ verdict, closed, interrupted }: DriveResult): Verdict[] {
  if (!verdict.ok) return verdict.reasons.map((text) => ({ isGood: false, text }));
  const rounds = closed?.rounds.length ?? 0;
  const median = formatRate(closed?.callsPerSecond?.median ?? 0);
  const early = interrupted ? ', ended early' : '';
  return [
    {
      isGood: true,
      text: `${median}, the median of ${counted(rounds, 'round', 'rounds')}${early}`,
    },
  ];
}

function rateLines({ url, calls, elapsedMs, closed, warmUp }: DriveResult, paint: Paint): string[] {
  const { callsPerSecond: rate, nsPerCall: ns, processors = 0 } = closed ?? {};
  const lines = [
    field('Task', paint.bold(safeText(url))),
    field('Rate', `${countOf(calls.sent, 'calls')} in ${formatSpan(Math.round(elapsedMs))}`),
  ];
  if (rate != null) {
    const range = `${formatRate(rate.least)} to ${formatRate(rate.most)}`;
    lines.push(field('', `${paint.bold(formatRate(rate.median))} in the median round, ${range}`));
  }
  if (ns != null) {
    const range = `${formatShortTime(ns.least)} to ${formatShortTime(ns.most)}`;
    lines.push(field('', `${formatShortTime(ns.median)} per call and thread, ${range}`));
  }
  lines.push(field('', paint.dim(`processors ${formatShare(processors, 1)} busy`)));
  if (warmUp.sent > 0) {
    lines.push(field('', paint.dim(`after a warm-up of ${countOf(warmUp.sent, 'calls')}`)));
  }
  return lines;
}

function roundLines({ closed }: DriveResult): string[] {
  const rounds = closed?.rounds ?? [];
  if (rounds.length > MOST_LISTED) return [field('Rounds', formatCount(rounds.length))];
  return rounds.map(({ callsPerSecond, nsPerCall }, at) => {
    const time = nsPerCall === null ? '' : formatShortTime(nsPerCall);
    const cells = formatRate(callsPerSecond).padStart(WIDE) + time.padStart(COLUMN + 2);
    return field(at === 0 ? 'Rounds' : '', String(at + 1).padEnd(4) + cells);
  });
}

/** Samples are means of short calls, so this is no latency of single ones. */
function timeLines({ times: { response } }: DriveResult, paint: Paint): string[] {
  if (response.count === 0) return [field('A call', 'unknown: there was no call')];
  const heads = PERCENTILES.map((p) => (p === 100 ? 'max' : `p${p}`).padStart(COLUMN)).join('');
  const cells = PERCENTILES.map((percentile) =>
    formatShortTime((percentileMs(response, percentile) ?? 0) * NS_PER_MS).padStart(COLUMN),
  );
  return [field('A call', paint.dim(heads)), field('', cells.join(''))];
}

function threadLines({ threads, calls, closed }: DriveResult, paint: Paint): string[] {
  const crashed = threads.flatMap(({ crash }, at) =>
    crash === null
      ? []
      : [
          field(
            '',
            paint.bad(`thread ${at + 1} crashed, its results are incomplete: ${safeText(crash)}`),
          ),
        ],
  );
  if (threads.length > MOST_LISTED) {
    const made = threads.map((thread) => thread.calls.sent);
    const range = [Math.min(...made), Math.max(...made)].map((n) => formatShare(n, calls.sent));
    const text = `${threads.length}, each with ${range.join(' to ')} of the calls`;
    return [field('Threads', text), ...crashed];
  }
  const rows = threads.map(({ calls: { sent } }, at) => {
    const { perSecond, time } = paceOf((closed?.rounds ?? []).map((round) => round.threads[at]));
    return (
      `${String(at + 1).padEnd(4)}${formatCount(sent).padStart(WIDE)}` +
      `${formatShare(sent, calls.sent).padStart(COLUMN)}${perSecond.padStart(WIDE)}` +
      `${time.padStart(COLUMN + 2)}`
    );
  });
  return [...rows.map((row, at) => field(at === 0 ? 'Threads' : '', row)), ...crashed];
}

/** How fast a thread was over all rounds of which something is known. */
export function paceOf(rounds: readonly (RoundThread | null | undefined)[]): {
  readonly perSecond: string;
  readonly time: string;
} {
  const known = rounds.filter((round) => round != null);
  const made = known.reduce((sum, round) => sum + round.calls, 0);
  const ms = known.reduce((sum, round) => sum + round.elapsedMs, 0);
  if (made === 0 || ms === 0) return { perSecond: '', time: '' };
  return {
    perSecond: formatRate((made * 1_000) / ms),
    time: formatShortTime((ms * NS_PER_MS) / made),
  };
}
