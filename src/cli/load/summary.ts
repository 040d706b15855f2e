import { STATUS_CODES } from 'node:http';
import type { ArrivalsResult, DriveResult } from '../../load/judge/drive-result.ts';
import type { Guarantee } from '../../load/judge/guarantee.ts';
import { INTERRUPTED, TIMED_OUT, UNSENT } from '../../load/measure/errors.ts';
import { sumsOf } from '../../load/measure/timeline.ts';
import {
  countOf,
  formatCount,
  formatLatency,
  formatNumber,
  formatRate,
  formatShare,
  formatShortTime,
  formatSpan,
  sparkline,
} from '../format.ts';
import {
  field,
  INDENT,
  LABEL,
  labelled,
  marked,
  type Paint,
  widthOf,
  wrapped,
} from '../terminal.ts';
import { mainTimes, nounOf, phasesOf, TIME_HEADS, timeCells } from './outcome.ts';
import { isRateMet, isRateShared, RATE_TOLERANCE, verdictLines } from './verdict.ts';

/** With more rounds or threads, only their range is shown. */
const MOST_LISTED = 16;
/** Width of a column of figures, and of one with a rate. */
const COLUMN = 10;
const WIDE = 16;
const NAME = 25;
const SPARKLINE_WIDTH = 60;
/** Room for `each 1 min 20 s` after the sparkline. */
const SPARKLINE_LEGEND = 16;
const NS_PER_MS = 1e6;
/** Kinds of errors of requests and calls that did not end by themselves. */
const WITHOUT_END: ReadonlySet<string> = new Set([TIMED_OUT, UNSENT, INTERRUPTED]);

/** Renders the summary of a run for this many columns, at least 60. */
export function renderSummary(
  result: DriveResult,
  paint: Paint,
  columns = Number.POSITIVE_INFINITY,
): string[] {
  const isOpen = result.closed === null;
  const verdicts = verdictLines(result).map((line) => marked(line, paint));
  const blocks = [
    labelled('Verdict', verdicts),
    isOpen ? rateLines(result, paint, columns) : paceLines(result, paint),
    isOpen ? guaranteeLines(result, paint) : roundLines(result),
    latencyTable(result, paint, columns),
    [...responseLines(result, paint), ...blockedLines(result, paint)],
    threadLines(result, paint),
    ...(result.embeddedServer ? [NEXT] : []),
  ];
  return ['', ...blocks.flatMap((block) => [...block, ''])].flatMap((line) =>
    wrapped(line, columns, INDENT),
  );
}

/** What to do after a first run. */
const NEXT = [
  field('Next', 'zerotime load URL measures your server; zerotime load --help lists all options'),
];

function rateLines(result: DriveResult, paint: Paint, columns: number): string[] {
  const { elapsedMs, calls, achievedRatePerSecond: achieved, interrupted, arrivals } = result;
  const off = achieved / (result.wantedRatePerSecond ?? 0) - 1;
  const met = off <= RATE_TOLERANCE && isRateMet(result);
  const offText = `${off < 0 ? '-' : '+'}${(100 * Math.abs(off)).toFixed(2)} %`;
  const texts = [
    wantedText(result),
    `${paint.bold(`${formatRate(achieved)} achieved`)}  ` +
      `${met ? paint.good(`✔ ${offText}`) : paint.bad(offText)}  ` +
      `${countOf(calls.sent, nounOf(result))} in ${formatSpan(Math.round(elapsedMs))}` +
      `${interrupted ? ', ended early' : ''}`,
    ...warmUpLine(result),
    ...arrivalText(arrivals),
    ...rateBars(result, columns).map(paint.dim),
    ...shortfallLines(result, paint),
  ];
  const target = paint.bold(result.url) + (result.embeddedServer ? ' (embedded server)' : '');
  return [field('Target', target), ...labelled('Rate', texts)];
}

/** The line about the warm-up. */
function warmUpLine(result: DriveResult): string[] {
  const { sent, failed } = result.warmUp;
  if (sent === 0) return [];
  const outcome = failed === 0 ? '' : `, of which ${formatCount(failed)} failed`;
  return [`after a warm-up of ${countOf(sent, nounOf(result))}${outcome}`];
}

/** Describes the spacing of a run's arrivals, unless it is even. */
export function arrivalText(arrivals: ArrivalsResult | null): string[] {
  if (arrivals?.kind === 'poisson') {
    return [`arrivals at random; repeat with --seed ${arrivals.seed}`];
  }
  return arrivals?.kind === 'listed' ? [`arrivals as listed in ${arrivals.name}`] : [];
}

/** The requested rate, or the range over which it moved. */
export function wantedText({
  wantedRangePerSecond,
  wantedRatePerSecond,
  options,
}: DriveResult): string {
  if (wantedRangePerSecond === null)
    return `${formatNumber(Number(options.ratePerSecond))}/s wanted`;
  const [lowest, highest] = wantedRangePerSecond.map(formatRate);
  return `${formatRate(wantedRatePerSecond ?? 0)} wanted on average, from ${lowest} to ${highest}`;
}

/** Why the rate was missed and what to do about it. */
function shortfallLines(result: DriveResult, paint: Paint): string[] {
  const { elapsedMs, admitted, calls, threads, arrivals, options } = result;
  // A crashed thread's unreported requests are missing, too. The crash has its own line.
  if (threads.some(({ crash }) => crash !== null)) return [];
  const lines: string[] = [];
  const unsent = admitted - calls.sent;
  const was = (count: number) => (count === 1 ? 'was' : 'were');
  if (unsent > 0 && nounOf(result) === 'calls') {
    lines.push(
      paint.bad(`${countOf(unsent, 'calls')} ${was(unsent)} not started in time:`),
      'the task or this client is too slow for this rate, or --concurrency too low.',
    );
  } else if (unsent > 0) {
    lines.push(
      paint.bad(`${countOf(unsent, 'requests')} found no free connection in time:`),
      'the target or this client is too slow for this rate, or --connections too low.',
    );
  }
  // The other processes of a shared rate take the rest of its slots.
  if (isRateShared(result)) return lines;
  const slots = ((result.wantedRatePerSecond ?? 0) * elapsedMs) / 1_000;
  const lost = Math.floor(slots) - admitted;
  if (lost > slots * RATE_TOLERANCE) {
    const takesBurst = arrivals?.kind === 'even' && options.ramp === null;
    lines.push(
      paint.bad(`${countOf(lost, 'slots')} of the schedule ${was(lost)} lost:`),
      takesBurst
        ? 'this client is too busy. A higher --burst lets it catch up after a stall.'
        : 'this client is too busy. Use more --threads, or another machine.',
    );
  }
  return lines;
}

/** A sparkline of admissions. Each bar covers the same number of 100 ms slots. */
function rateBars(
  { admittedPer100Ms: counts, wantedRatePerSecond, wantedRangePerSecond }: DriveResult,
  columns: number,
): string[] {
  const wanted = wantedRatePerSecond ?? 0;
  const room = Math.max(1, Math.min(SPARKLINE_WIDTH, columns - INDENT - SPARKLINE_LEGEND));
  // With few requests per bar, bars would jump with the alignment of the slots.
  const width = Math.max(Math.ceil(counts.length / room), Math.ceil(200 / wanted));
  const bars = sumsOf(counts, width);
  if (bars.length < 2) return [];
  // The target rate fills seven eighths, to leave room for an excess.
  const line = sparkline(bars, ((wantedRangePerSecond?.[1] ?? wanted) / 10) * width * (8 / 7));
  return [`${line} each ${formatSpan(100 * width)}`];
}

/** The rate and the time of a call, over all rounds. */
function paceLines(result: DriveResult, paint: Paint): string[] {
  const { url, calls, elapsedMs, closed } = result;
  const { callsPerSecond: rate, nsPerCall: ns, processors = 0 } = closed ?? {};
  const texts = [`${countOf(calls.sent, 'calls')} in ${formatSpan(Math.round(elapsedMs))}`];
  if (rate != null) {
    const range = `${formatRate(rate.least)} to ${formatRate(rate.most)}`;
    texts.push(`${paint.bold(formatRate(rate.median))} in the median round, ${range}`);
  }
  if (ns != null) {
    const range = `${formatShortTime(ns.least)} to ${formatShortTime(ns.most)}`;
    texts.push(`${formatShortTime(ns.median)} per call and thread, ${range}`);
  }
  texts.push(paint.dim(`processors ${formatShare(processors, 1)} busy`));
  texts.push(...warmUpLine(result).map(paint.dim));
  return [field('Task', paint.bold(url)), ...labelled('Rate', texts)];
}

function roundLines({ closed }: DriveResult): string[] {
  const rounds = closed?.rounds ?? [];
  if (rounds.length > MOST_LISTED) return [field('Rounds', formatCount(rounds.length))];
  const rows = rounds.map(({ callsPerSecond, nsPerCall }, at) => {
    const time = nsPerCall === null ? '' : formatShortTime(nsPerCall);
    const cells = formatRate(callsPerSecond).padStart(WIDE) + time.padStart(COLUMN + 2);
    return String(at + 1).padEnd(4) + cells;
  });
  return labelled('Rounds', rows);
}

/** The lines that say whether the guarantee held, with the tightest span. */
function guaranteeLines(result: DriveResult, paint: Paint): string[] {
  const { text, tightest, isHeld } = guaranteeText(result);
  const mark = isHeld ? paint.good('✔ held') : paint.bad('✘ BROKEN');
  return labelled('Guarantee', [`${mark}: ${text}`, ...tightest.map(paint.dim)]);
}

/** Whether the guarantee held: what it says, and the span closest to its maximum. */
export function guaranteeText(result: DriveResult) {
  const { options, wantedRangePerSecond } = result;
  const noun = nounOf(result);
  const { held: isHeld, intervals, tightest, scheduled } = result.guarantee ?? NO_GUARANTEE;
  if (scheduled !== undefined) {
    const { admitted, strays } = scheduled;
    const all = `${formatCount(admitted)} ${noun}`;
    const text =
      strays === 0
        ? `each of ${all} at its own instant of the schedule`
        : `${formatCount(strays)} of ${all} are not in the schedule`;
    return { isHeld, text, tightest: [] };
  }
  const rate = `${formatNumber(Number(options.ratePerSecond))} x t`;
  const flow = wantedRangePerSecond === null ? rate : 'each rate x its time';
  const limit = `${formatNumber(options.burst ?? 1)} + ${flow} ${noun}`;
  const text = isHeld
    ? `in every span of t seconds at most ${limit}`
    : `in some span of t seconds more than ${limit}`;
  if (tightest === null) return { isHeld, text, tightest: [] };
  const { admitted, allowed, lengthMs } = tightest;
  const span =
    `${isHeld ? 'tightest' : 'worst'} of ${countOf(intervals, 'spans')}: ${formatCount(admitted)} in ` +
    `${formatNumber(lengthMs)} ms, ${formatNumber(allowed)} allowed`;
  return { isHeld, text, tightest: [span] };
}

const NO_GUARANTEE: Guarantee = { held: true, intervals: 0, tightest: null, toleranceInTokens: 0 };

/**
 * The latency of each phase. The meaning of the phases goes below the table if it does not fit
 * beside it.
 */
function latencyTable(result: DriveResult, paint: Paint, columns: number): string[] {
  const noun = nounOf(result);
  if (mainTimes(result).count === 0) {
    return [field('Latency', `unknown: there was no ${noun === 'calls' ? 'call' : 'response'}`)];
  }
  const room = Math.floor((columns - INDENT) / TIME_HEADS.length);
  const width = Math.min(COLUMN, Math.max(9, room));
  const rowOf = (cells: readonly string[]) => cells.map((cell) => cell.padStart(width)).join('');
  const rows = phasesOf(result).map(([phase, label, meaning], at) => {
    const cells = rowOf(timeCells(result, phase));
    const line = `    ${label.padEnd(LABEL - 2)}${at === 0 ? paint.bold(cells) : cells}`;
    return { line, label, meaning, full: `${line}   ${paint.dim(meaning)}` };
  });
  const fit = rows.every(({ full }) => widthOf(full) <= columns);
  const legend = rows.map(({ label, meaning }) => `${label}: ${meaning}`).join('; ');
  const waited = result.errors
    .filter(({ kind }) => WITHOUT_END.has(kind))
    .map(({ kind, count }) => `${formatCount(count)} ${kind}`);
  const endless = noun === 'calls' ? 'calls that did not end' : 'requests without a response';
  return [
    field('Latency', paint.dim(rowOf(TIME_HEADS))),
    ...rows.map(({ line, full }) => (fit ? full : line)),
    ...(fit ? [] : [field('', paint.dim(legend))]),
    ...(waited.length === 0 || result.loop === 'closed'
      ? []
      : [
          field('', `Includes ${endless}, counted as the time they waited:`),
          field('', `${waited.join(', ')}.`),
        ]),
  ];
}

interface CountRow {
  readonly name: string;
  readonly count: number;
  readonly isGood: boolean;
  readonly example?: string;
}

/** Responses by status, in order, and errors, most frequent first. */
export function outcomesOf({ statusCodes, errors }: DriveResult) {
  const responses = Object.entries(statusCodes).map(([status, count]) => ({
    name: `${status} ${STATUS_CODES[status] ?? ''}`.trim(),
    count,
    isGood: Number(status) < 400,
  }));
  return { responses, failures: errors.toSorted((a, b) => b.count - a.count) };
}

function responseLines(result: DriveResult, paint: Paint): string[] {
  const { succeeded, failed } = result.calls;
  const { responses, failures } = outcomesOf(result);
  const made = succeeded === 0 ? [] : [{ name: 'succeeded', count: succeeded, isGood: true }];
  const errors = failures.map(({ kind, ...rest }) => ({ name: kind, isGood: false, ...rest }));
  const total = succeeded + failed;
  return [
    ...(nounOf(result) === 'calls'
      ? countLines('Calls', made, total, paint)
      : countLines('Responses', responses, total, paint)),
    ...countLines('Errors', errors, total, paint),
  ];
}

function countLines(
  label: string,
  rows: readonly CountRow[],
  total: number,
  paint: Paint,
): string[] {
  if (rows.length === 0) return [field(label, 'none')];
  const lines = rows.map(({ name, count, isGood, example = '' }) => {
    const shown = (isGood ? paint.good : paint.bad)(name.padEnd(NAME));
    const share = formatShare(count, total).padStart(COLUMN);
    const said = example === '' ? '' : `   ${paint.dim(example)}`;
    return `${shown}${formatCount(count).padStart(COLUMN)}${share}${said}`;
  });
  return labelled(label, lines);
}

/** The line about calls that blocked their thread. */
function blockedLines({ blocked }: DriveResult, paint: Paint): string[] {
  if (blocked === null || blocked.calls === 0) return [];
  const longest = formatLatency(1e3 * blocked.longestMs);
  const text = `${countOf(blocked.calls, 'calls')} blocked a thread, for up to ${longest}`;
  return [field('Blocked', paint.bad(text))];
}

function threadLines(result: DriveResult, paint: Paint): string[] {
  const { threads, admitted } = result;
  const crashed = crashTexts(result).map((text) => field('', paint.bad(text)));
  const counts = threads.map((thread) => thread.admitted);
  if (threads.length > MOST_LISTED) {
    const range = [Math.min(...counts), Math.max(...counts)].map((n) => formatShare(n, admitted));
    const text = `${threads.length}, each with ${range.join(' to ')} of the ${nounOf(result)}`;
    return [field('Threads', text), ...crashed];
  }
  const rows = counts.map((count, at) => {
    const pace = paceOf(result, at).map((cell) => cell.padStart(WIDE - 2));
    return (
      `${String(at + 1).padEnd(4)}${formatCount(count).padStart(COLUMN)}` +
      `${formatShare(count, admitted).padStart(COLUMN)}${pace.join('')}`
    );
  });
  return [...labelled('Threads', rows), ...crashed];
}

/** One sentence per crashed thread. */
export function crashTexts({ threads }: DriveResult): string[] {
  return threads.flatMap(({ crash }, at) =>
    crash === null ? [] : [`thread ${at + 1} crashed, its results are incomplete: ${crash}`],
  );
}

/** The calls per second of a thread over all rounds, and the time of a call. Empty at a rate. */
export function paceOf({ closed }: DriveResult, thread: number): string[] {
  if (closed === null) return [];
  const known = closed.rounds.map(({ threads }) => threads[thread]).filter((one) => one != null);
  const made = known.reduce((sum, round) => sum + round.calls, 0);
  const ms = known.reduce((sum, round) => sum + round.elapsedMs, 0);
  if (made === 0 || ms === 0) return ['', ''];
  return [formatRate((made * 1_000) / ms), formatShortTime((ms * NS_PER_MS) / made)];
}
