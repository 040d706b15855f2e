import { STATUS_CODES } from 'node:http';
import type { TimetableVerdict } from '../../load/guarantee.ts';
import { threadsOf } from '../../load/options.ts';
import type { LoadResult } from '../../load/result.ts';
import type { Span } from '../../load/tally.ts';
import { type About, machineText } from '../about.ts';
import { safeUrl } from '../command-line.ts';
import {
  formatCount,
  formatLatency,
  formatNumber,
  formatRate,
  formatShare,
  formatSpan,
} from '../format.ts';
import { writeOutput } from '../output-files.ts';
import { latencyBars } from '../report/latency-bars.ts';
import { latencyLines } from '../report/latency-lines.ts';
import type { Facts, LineChart, Page, Section } from '../report/page.ts';
import { percentileCurve } from '../report/percentile-curve.ts';
import { renderPage } from '../report/render.ts';
import { failuresChart } from './failures-chart.ts';
import { nounOf, OUTCOME } from './noun.ts';
import { spanRows } from './spans.ts';
import { wantedText } from './summary.ts';
import { verdictLines } from './verdict.ts';

const PERCENTILES = [50, 90, 99, 99.9] as const;
const MOST_POINTS = 300;

/** Writes an HTML page with charts. */
export function writeReport(path: string, result: LoadResult, about: About): void {
  writeOutput(path, renderPage(reportPage(result, about)));
}

function reportPage(result: LoadResult, about: About): Page {
  const { options, url } = result;
  return {
    title: options.task === undefined ? `${options.method} ${safeUrl(url)}` : url,
    verdicts: verdictLines(result),
    facts: figures(result),
    sections: [
      latencySection(result),
      rateSection(result),
      responseSection(result),
      threadSection(result),
    ],
    circumstances: circumstances(result, about),
    footer: `zerotime ${about.version} load, Node.js ${about.node}`,
  };
}

function figures({ achievedRate, tally, sent, options }: LoadResult): Facts {
  const { latency } = tally.histograms;
  const { succeeded, failed } = tally.counters;
  const at = (percentile: number) =>
    latency.totalCount === 0 ? 'none' : formatLatency(latency.getValueAtPercentile(percentile));
  return [
    ['Achieved', formatRate(achievedRate)],
    [options.task === undefined ? 'Requests' : 'Calls', formatCount(sent)],
    ['p50', at(50)],
    ['p99', at(99)],
    ['Longest', at(100)],
    ['Failed', formatShare(failed, succeeded + failed)],
  ];
}

function circumstances(result: LoadResult, about: About): Facts {
  const { options, startedAt, elapsedMs, interrupted, warmUp } = result;
  const span = formatSpan(Math.round(elapsedMs));
  return [
    ['Command', about.commandLine],
    ['Started', startedAt.toISOString()],
    ['Time', `${span}${interrupted ? ', ended early' : ''}`],
    ['Wanted', wantedText(result).replace(' wanted', '')],
    ['Threads', threadCount(options)],
    options.task === undefined
      ? [roomName(options), `at most ${formatCount(options.connections)}`]
      : ['Concurrency', `${options.task.concurrency} a thread`],
    ...(warmUp.sent === 0
      ? []
      : [
          [
            'Warm-up',
            `${formatCount(warmUp.sent)} ${nounOf(options)}, not included in any figure`,
          ] as const,
        ]),
    ['Versions', `zerotime ${about.version}, Node.js ${about.node}`],
    ['Machine', machineText(about.machine)],
  ];
}

function roomName({ transport }: LoadResult['options']): string {
  return transport?.http2 === true ? 'Sessions' : 'Connections';
}

function threadCount({ threads, processes }: LoadResult['options']): string {
  const all = String(threadsOf({ threads, processes }));
  return processes === undefined ? all : `${all} in ${processes} processes`;
}

function rateSection(result: LoadResult): Section {
  const { options, guarantee, rateRange } = result;
  const { held, intervals, tightest, scheduled } = guarantee;
  const noun = nounOf(options);
  const flow = rateRange ? 'each rate x its time' : `${formatNumber(options.rate)} x t`;
  const promise = `${formatNumber(options.burst)} + ${flow}`;
  const inSchedule = scheduled && scheduleText(scheduled, noun);
  const text = held
    ? `Guarantee: in each of ${formatCount(intervals)} spans of t seconds at most ${promise} ${noun}`
    : `Guarantee broken: in some span of t seconds more than ${promise} ${noun}`;
  const closest =
    tightest === undefined
      ? ''
      : `; the ${held ? 'tightest' : 'worst'}: ${formatCount(tightest.admitted)} in ` +
        `${formatNumber(tightest.lengthUs / 1_000)} ms, ${formatNumber(tightest.allowed)} allowed`;
  return {
    heading: 'Rate',
    verdicts: [{ isGood: held, text: inSchedule ?? text + closest }],
    charts: [rateChart(result)],
  };
}

/** Says whether each request had its own slot in the schedule. */
function scheduleText({ admitted, strays }: TimetableVerdict, noun: string): string {
  return strays === 0
    ? `Guarantee: each of ${formatCount(admitted)} ${noun} at its own instant of the schedule`
    : `Guarantee broken: ${formatCount(strays)} of ${formatCount(admitted)} ${noun} are not in the schedule`;
}

/** Requests that came due, over time. */
function rateChart(result: LoadResult): LineChart {
  const { admittedPer100Ms: counts, options, elapsedMs, rateRange } = result;
  const noun = nounOf(options);
  const width = Math.max(1, Math.ceil(counts.length / MOST_POINTS));
  // A partial last slot would look like a drop.
  const whole = Math.floor(Math.min(elapsedMs / 100 + 1e-6, counts.length) / width);
  const rates = Array.from({ length: whole }, (_, slot) => {
    const part = counts.slice(slot * width, (slot + 1) * width);
    return (part.reduce((sum, count) => sum + count, 0) / width) * 10;
  });
  const x = Array.from({ length: whole + 1 }, (_, slot) => (slot * width) / 10);
  const wanted = {
    label: 'wanted',
    colour: 'red',
    values: x.map(() => options.rate),
    look: 'dashes',
  } as const;
  return {
    kind: 'lines',
    title: `${noun === 'calls' ? 'Calls' : 'Requests'} that came due, each ${formatSpan(width * 100)}`,
    over: 'time',
    x,
    end: elapsedMs / 1_000,
    series: [
      { label: noun, colour: 'blue', values: [...rates, rates.at(-1) ?? 0], look: 'area' },
      // A changing rate is visible in the requests themselves.
      ...(rateRange ? [] : [wanted]),
    ],
    unit: '/s',
    logarithmic: false,
    steps: true,
  };
}

function latencySection({ tally, options, elapsedMs }: LoadResult): Section {
  const { histograms, latencyByTime } = tally;
  const { latency, response } = histograms;
  const noun = nounOf(options);
  if (latency.totalCount === 0) {
    const text = noun === 'calls' ? 'No call ended.' : 'There was no response.';
    return { heading: 'Latency', verdicts: [{ isGood: false, text }], charts: [] };
  }
  const spans = spanRows(options);
  const rows = spans.map(([span, label, meaning]) => {
    const histogram = histograms[span];
    const values = PERCENTILES.map((percentile) => histogram.getValueAtPercentile(percentile));
    return [`${label}: ${meaning}`, ...[...values, histogram.maxValue].map(formatLatency)];
  });
  const meaningOf = (wanted: Span) => spans.find(([span]) => span === wanted)?.[2] ?? wanted;
  return {
    heading: 'Latency',
    verdicts: [],
    table: { columns: ['From and to', ...PERCENTILES.map((p) => `p${p}`), 'max'], rows },
    charts: [
      latencyLines(`From due to ${OUTCOME[noun]}, by due time`, latencyByTime, elapsedMs / 1_000),
      percentileCurve('Latency by percentile', [
        { label: meaningOf('latency'), colour: 'blue', histogram: latency },
        { label: meaningOf('response'), colour: 'orange', histogram: response, look: 'dashes' },
      ]),
      latencyBars('Latency distribution', latency, noun),
    ],
  };
}

function responseSection(result: LoadResult): Section {
  const { statusCodes, errors } = result.tally;
  const responses = [...statusCodes]
    .sort(([a], [b]) => a - b)
    .map(([status, count]) => ({ name: `${status} ${STATUS_CODES[status] ?? ''}`.trim(), count }));
  const failures = [...errors.values()]
    .sort((a, b) => b.count - a.count)
    .map(({ kind, count, example }) => ({ name: `${kind}: ${example}`, count }));
  const chart = failuresChart(result);
  return {
    heading: nounOf(result.options) === 'calls' ? 'Errors' : 'Responses and errors',
    verdicts: result.tally.counters.failed === 0 ? [{ isGood: true, text: 'No errors.' }] : [],
    shares: [...responses, ...failures],
    charts: chart === undefined ? [] : [chart],
  };
}

function threadSection({ threads }: LoadResult): Section {
  return {
    heading: 'Share of each thread',
    verdicts: threads.flatMap(({ crash }, at) =>
      crash === undefined
        ? []
        : [
            {
              isGood: false,
              text: `Thread ${at + 1} crashed, its results are incomplete: ${crash}`,
            },
          ],
    ),
    shares: threads.map(({ admitted }, at) => ({ name: String(at + 1), count: admitted })),
    charts: [],
  };
}
