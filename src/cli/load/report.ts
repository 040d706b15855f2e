import { writeFileSync } from 'node:fs';
import { STATUS_CODES } from 'node:http';
import type { LoadResult } from '../../load/result.ts';
import { formatCount, formatLatency, formatNumber, formatRate, formatSpan } from '../format.ts';
import { latencyBars } from '../report/latency-bars.ts';
import { latencyLines } from '../report/latency-lines.ts';
import type { LineChart, Page, Section } from '../report/page.ts';
import { renderPage } from '../report/render.ts';
import { nounOf } from './noun.ts';
import { spanRows } from './spans.ts';
import { wantedText } from './summary.ts';
import { verdictLines } from './verdict.ts';

const PERCENTILES = [50, 90, 99, 99.9] as const;
const MOST_POINTS = 300;

/** Writes an HTML page with charts. */
export function writeReport(path: string, result: LoadResult, version: string): void {
  writeFileSync(path, renderPage(reportPage(result, version)));
}

function reportPage(result: LoadResult, version: string): Page {
  const { options, url, startedAt, elapsedMs, sent, achievedRate, interrupted } = result;
  const span = formatSpan(Math.round(elapsedMs));
  return {
    title: options.task === undefined ? `${options.method} ${url}` : url,
    facts: [
      ['Started', startedAt.toISOString()],
      ['Wanted', wantedText(result).replace(' wanted', '')],
      ['Achieved', formatRate(achievedRate)],
      [options.task === undefined ? 'Requests' : 'Calls', formatCount(sent)],
      ['Time', `${span}${interrupted ? ', ended early' : ''}`],
      ['Threads', String(options.threads)],
      options.task === undefined
        ? ['Connections', String(options.connections)]
        : ['Concurrency', `${options.task.concurrency} a thread`],
    ],
    sections: [
      { heading: 'Verdict', verdicts: verdictLines(result), charts: [] },
      rateSection(result),
      latencySection(result),
      responseSection(result),
      threadSection(result),
    ],
    footer: `zerotime ${version} load, Node.js ${process.version}`,
  };
}

function rateSection(result: LoadResult): Section {
  const { options, guarantee, rateRange } = result;
  const { held, intervals, tightest } = guarantee;
  const noun = nounOf(options);
  const flow = rateRange ? 'each rate x its time' : `${formatNumber(options.rate)} x t`;
  const promise = `${formatNumber(options.burst)} + ${flow}`;
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
    verdicts: [{ isGood: held, text: text + closest }],
    charts: [rateChart(result)],
  };
}

/** The requests that came due, by time. */
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
    x,
    series: [
      { label: noun, colour: 'blue', values: [...rates, rates.at(-1) ?? 0], look: 'area' },
      // If the rate changed, the requests themselves show it.
      ...(rateRange ? [] : [wanted]),
    ],
    unit: '/s',
    logarithmic: false,
    steps: true,
  };
}

function latencySection({ tally, options }: LoadResult): Section {
  const { histograms, latencyByTime } = tally;
  if (histograms.latency.totalCount === 0) {
    const text = 'There was no response.';
    return { heading: 'Latency', verdicts: [{ isGood: false, text }], charts: [] };
  }
  const rows = spanRows(options).map(([span, label, meaning]) => {
    const histogram = histograms[span];
    const values = PERCENTILES.map((percentile) => histogram.getValueAtPercentile(percentile));
    return [`${label}: ${meaning}`, ...[...values, histogram.maxValue].map(formatLatency)];
  });
  return {
    heading: 'Latency',
    verdicts: [],
    table: { columns: ['', ...PERCENTILES.map((p) => `p${p}`), 'max'], rows },
    charts: [
      latencyLines(
        'From due to answered, by the time when it was due',
        latencyByTime.percentiles(),
      ),
      latencyBars('How many took how long', histograms.latency, nounOf(options)),
    ],
  };
}

function responseSection({ tally }: LoadResult): Section {
  const responses = [...tally.statusCodes]
    .sort(([a], [b]) => a - b)
    .map(([status, count]) => ({ name: `${status} ${STATUS_CODES[status] ?? ''}`.trim(), count }));
  const errors = [...tally.errors.values()]
    .sort((a, b) => b.count - a.count)
    .map(({ kind, count, example }) => ({ name: `${kind}: ${example}`, count }));
  return {
    heading: 'Responses and errors',
    verdicts: [],
    shares: [...responses, ...errors],
    charts: [],
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
