import type { ClosedFigures, DriveResult, FailuresByTime } from '../../load/judge/drive-result.ts';
import { sumsOf } from '../../load/measure/timeline.ts';
import { threadsOf } from '../../load/plan/options.ts';
import { clientFacts, safeCommandLine } from '../about.ts';
import {
  countOf,
  formatCount,
  formatRate,
  formatShare,
  formatShortTime,
  formatSpan,
} from '../format.ts';
import {
  barChart,
  latencyBars,
  latencyLines,
  percentileCurve,
  rateSteps,
} from '../report/distributions.ts';
import { type Chart, COLOURS, type Facts, type Page, type Section } from '../report/page.ts';
import { histogramOf, mainTimes, nounOf, phasesOf, TIME_HEADS, timeCells } from './outcome.ts';
import { crashTexts, guaranteeText, outcomesOf, paceOf, wantedText } from './summary.ts';
import { verdictLines } from './verdict.ts';

const MOST_POINTS = 300;

/** The page of `--report`. */
export function pageOf(result: DriveResult): Page {
  const { request } = result.options;
  return {
    title: request === null ? result.url : `${request.method} ${result.url}`,
    verdicts: verdictLines(result),
    facts: figures(result),
    sections: [
      ...(result.closed === null ? [] : [roundSection(result.closed)]),
      latencySection(result),
      ...(result.closed === null ? [rateSection(result)] : []),
      responseSection(result),
      threadSection(result),
    ],
    circumstances: circumstances(result),
    footer: `zerotime ${result.zerotime} load, Node.js ${result.node}`,
  };
}

function figures(result: DriveResult): Facts {
  const { calls, closed } = result;
  const cells = timeCells(result, phasesOf(result)[0][0]);
  const at = (head: string) => cells[TIME_HEADS.indexOf(head)] ?? 'none';
  const ns = closed?.nsPerCall?.median;
  return [
    closed === null
      ? ['Achieved', formatRate(result.achievedRatePerSecond)]
      : ['Median round', formatRate(closed.callsPerSecond?.median ?? 0)],
    [nounOf(result) === 'calls' ? 'Calls' : 'Requests', formatCount(calls.sent)],
    closed === null
      ? ['p50', at('p50')]
      : ['Per call and thread', ns === undefined ? 'none' : formatShortTime(ns)],
    ['p99', at('p99')],
    ['Longest', at('max')],
    ['Failed', formatShare(calls.failed, calls.succeeded + calls.failed)],
  ];
}

function circumstances(result: DriveResult): Facts {
  const { options, warmUp, processes, interrupted, loop } = result;
  const { request, concurrency, threads } = options;
  const all = String(threadsOf({ threads, processes }));
  const time = formatSpan(Math.round(result.elapsedMs)) + (interrupted ? ', ended early' : '');
  const warm = `${countOf(warmUp.sent, nounOf(result))}, not included in any figure`;
  const facts: Facts = [
    ['Command', safeCommandLine()],
    ['Started', result.startedAt],
    ['Time', time],
    ['Wanted', loop === 'closed' ? '' : wantedText(result).replace(' wanted', '')],
    ['Threads', processes === 1 ? all : `${all} in ${processes} processes`],
    request === null
      ? ['Concurrency', `${concurrency} per thread`]
      : [request.http2 ? 'Sessions' : 'Connections', `at most ${formatCount(request.connections)}`],
    ['Warm-up', warmUp.sent === 0 ? '' : warm],
    ...clientFacts(result),
  ];
  return facts.filter(([, text]) => text !== '');
}

function rateSection(result: DriveResult): Section {
  const { text, tightest, isHeld } = guaranteeText(result);
  const said = [`Guarantee${isHeld ? '' : ' broken'}: ${text}`, ...tightest].join('; ');
  return {
    heading: 'Rate',
    verdicts: [{ isGood: isHeld, text: said }],
    charts: [rateChart(result)],
  };
}

/** Requests that came due, over time. */
function rateChart(result: DriveResult): Chart {
  const { admittedPer100Ms: counts, options, elapsedMs, wantedRangePerSecond } = result;
  const noun = nounOf(result);
  const width = Math.max(1, Math.ceil(counts.length / MOST_POINTS));
  // A partial last slot would look like a drop.
  const whole = sumsOf(counts.slice(0, elapsedMs / 100 + 1e-6), width);
  const rates = whole.map((count) => (count / width) * 10);
  const chart = rateSteps(
    `${noun === 'calls' ? 'Calls' : 'Requests'} that came due, each ${formatSpan(width * 100)}`,
    rates.map((_, slot) => ((slot + 1) * width) / 10),
    [{ label: noun, colour: 'blue', values: rates }],
    // A changing rate is visible in the requests themselves.
    wantedRangePerSecond === null && ['wanted', Number(options.ratePerSecond)],
  );
  return { ...chart, end: elapsedMs / 1_000 };
}

function roundSection({ rounds }: ClosedFigures): Section {
  const names = rounds.map((_, at) => String(at + 1));
  const rates = rounds.map(({ callsPerSecond }) => callsPerSecond);
  return {
    heading: 'Rounds',
    verdicts: [],
    table: {
      columns: ['Round', 'calls/s', 'per call and thread'],
      rows: rounds.map(({ callsPerSecond, nsPerCall }, at) => [
        names[at] ?? '',
        formatRate(callsPerSecond),
        nsPerCall === null ? 'none' : formatShortTime(nsPerCall),
      ]),
    },
    charts: [
      barChart(
        'Calls per second in each round',
        ['round', names],
        ['calls/s', rates.map(Math.round)],
      ),
    ],
  };
}

function latencySection(result: DriveResult): Section {
  const isOpen = result.closed === null;
  const noun = nounOf(result);
  const { count, hdrUnit } = mainTimes(result);
  if (count === 0) {
    const text = noun === 'calls' ? 'No call ended.' : 'There was no response.';
    return { heading: 'Latency', verdicts: [{ isGood: false, text }], charts: [] };
  }
  const phases = phasesOf(result);
  const [first, last = first] = [phases[0], phases[3]];
  const curves = [...new Set([first, last])].map(([phase, , meaning], at) => ({
    label: meaning,
    colour: at === 0 ? ('blue' as const) : ('orange' as const),
    histogram: histogramOf(result, phase),
    look: at === 0 ? ('line' as const) : ('dashes' as const),
  }));
  const unit = hdrUnit === 'ns' ? ' µs' : ' ms';
  const curve = percentileCurve('Latency by percentile', curves, unit);
  const [from = '', to = ''] = first[2].split(' → ');
  const title = `From ${from} to ${to}, by due time`;
  const byTime = latencyLines(title, result.latencyByTime, result.elapsedMs / 1_000);
  const bars = () => latencyBars('Latency distribution', histogramOf(result, 'latency'), noun);
  return {
    heading: 'Latency',
    verdicts: [],
    table: {
      columns: ['From and to', ...TIME_HEADS],
      rows: phases.map(([phase, label, meaning]) => [
        `${label}: ${meaning}`,
        ...timeCells(result, phase),
      ]),
    },
    charts: isOpen ? [byTime, curve, bars()] : [curve],
    notes: isOpen ? [] : ['Calls shorter than 1 µs are timed together: their times are means.'],
  };
}

function responseSection(result: DriveResult): Section {
  const { responses, failures } = outcomesOf(result);
  const errors = failures.map(({ kind, example, count }) => ({
    name: `${kind}: ${example}`,
    count,
  }));
  const chart = failuresChart(result);
  return {
    heading: nounOf(result) === 'calls' ? 'Errors' : 'Responses and errors',
    verdicts: result.calls.failed === 0 ? [{ isGood: true, text: 'No errors.' }] : [],
    shares: [...responses, ...errors],
    charts: chart === undefined ? [] : [chart],
  };
}

/** Further kinds share one line. */
const MOST_KINDS = COLOURS.length - 1;
const MOST_FAILURE_SLOTS = 100;
/** A rest of the run that is a smaller part of a slot belongs to the slot before it. */
const LEAST_SLOT = 0.01;

/** Failures by due time and kind; undefined if there were none. */
function failuresChart({ failuresByTime, elapsedMs }: DriveResult): Chart | undefined {
  if (failuresByTime.length === 0) return undefined;
  const finestUs = Math.max(...failuresByTime.map(({ slotMs }) => 1_000 * slotMs));
  const spanUs = elapsedMs * 1_000;
  const slotUs = slotFor(spanUs, finestUs);
  const ends = slotEnds(spanUs, slotUs);
  const kinds = failuresByTime
    .toSorted((a, b) => sum(b.counts) - sum(a.counts))
    .map((one) => ({ kind: one.kind, rates: ratesOf(one, slotUs, ends) }));
  const named = kinds.slice(0, MOST_KINDS);
  const others = kinds.slice(MOST_KINDS).map(({ rates }) => rates);
  const rest = others.reduce<number[]>(
    (all, rates) => rates.map((rate, at) => rate + (all[at] ?? 0)),
    [],
  );
  const rows = others.length === 0 ? named : [...named, { kind: 'others', rates: rest }];
  const chart = rateSteps(
    `Failures by due time, each ${formatSpan(slotUs / 1_000)}`,
    ends.map((us) => us / 1e6),
    rows.map(({ kind, rates }, at) => {
      return { label: kind, colour: COLOURS[at] ?? 'grey', values: rates };
    }),
  );
  return { ...chart, end: elapsedMs / 1_000 };
}

/**
 * A slot of 1, 2 or 5 times a power of ten, wide enough for a chart. It holds a whole number of
 * counted slots: otherwise a constant failure rate would seem to oscillate.
 */
function slotFor(spanUs: number, countedUs: number): number {
  const least = Math.max(1_000, spanUs / MOST_FAILURE_SLOTS);
  const power = 10 ** Math.floor(Math.log10(least));
  const widths = [1, 2, 5, 10].map((factor) => factor * power);
  return widths.find((us) => us >= least && us % countedUs === 0) ?? Math.max(...widths);
}

/** Where each slot ends: the last one with the run. */
function slotEnds(spanUs: number, slotUs: number): number[] {
  const slots = Math.max(1, Math.ceil(spanUs / slotUs - LEAST_SLOT));
  const ends = Array.from({ length: slots }, (_, at) => (at + 1) * slotUs);
  return spanUs > 0 ? [...ends.slice(0, -1), spanUs] : ends;
}

/** Failures per second in each slot. */
function ratesOf({ slotMs, counts }: FailuresByTime, slotUs: number, ends: number[]): number[] {
  const failed = new Array<number>(ends.length).fill(0);
  counts.forEach((count, at) => {
    const slot = Math.min(ends.length - 1, Math.floor((at * slotMs * 1_000) / slotUs));
    failed[slot] = (failed[slot] ?? 0) + count;
  });
  return failed.map((count, slot) => {
    const lengthUs = (ends[slot] ?? slotUs) - slot * slotUs;
    return (count * 1e6) / lengthUs;
  });
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}

function threadSection(result: DriveResult): Section {
  const crashed = crashTexts(result).map((text) => ({ isGood: false, text }));
  const section = { heading: 'Threads', verdicts: crashed, charts: [] };
  if (result.closed === null) {
    const shares = result.threads.map(({ admitted }, at) => ({
      name: String(at + 1),
      count: admitted,
    }));
    return { ...section, heading: 'Share of each thread', shares };
  }
  const rows = result.threads.map(({ calls }, at) => [
    String(at + 1),
    formatCount(calls.sent),
    ...paceOf(result, at),
  ]);
  return { ...section, table: { columns: ['Thread', 'calls', 'calls/s', 'per call'], rows } };
}
