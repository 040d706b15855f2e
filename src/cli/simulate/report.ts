import type { Histogram } from 'hdr-histogram-js';
import type { SimulateResult } from '../../simulate/result.ts';
import type { LimiterResult } from '../../simulate/simulation.ts';
import { type About, machineText } from '../about.ts';
import { formatNumber, formatSpan } from '../format.ts';
import { writeOutput } from '../output-files.ts';
import { latencyBars } from '../report/latency-bars.ts';
import { LEAST_FOR_P99, latencyLines, middleOf } from '../report/latency-lines.ts';
import { onOneAxis } from '../report/one-axis.ts';
import {
  type Chart,
  COLOURS,
  type LineChart,
  type Page,
  type Section,
  type Series,
} from '../report/page.ts';
import { type Distribution, percentileCurve } from '../report/percentile-curve.ts';
import { renderPage } from '../report/render.ts';
import { highestOf, ratesByTime } from './chart-data.ts';
import { cellsOf, columnsOf, describeArrivals, describeBound, describeCallers } from './summary.ts';

/** Writes an HTML page with charts. */
export function writeReport(path: string, result: SimulateResult, about: About): void {
  writeOutput(path, renderPage(reportPage(result, about)));
}

function reportPage(result: SimulateResult, about: About): Page {
  const { source, limiters, server } = result;
  return {
    title: source.text,
    verdicts: boundVerdicts(limiters),
    facts: [
      ['Arrivals', describeArrivals(result)],
      ...(source.seed === undefined ? [] : [['Seed', String(source.seed)] as const]),
      ...(server === undefined ? [] : [['Server', server] as const]),
      ['Callers', describeCallers(result)],
    ],
    sections: [
      {
        heading: limiters.length === 1 ? 'Outcome' : 'Side by side',
        verdicts: [],
        table: {
          columns: ['Limiter', ...columnsOf(result)],
          rows: limiters.map((one) => [one.text, ...cellsOf(one, result)]),
        },
        charts: [],
      },
      rateSection(result),
      ...waitSections(result),
      ...responseSections(result),
    ],
    circumstances: [
      ['Command', about.commandLine],
      ['Versions', `zerotime ${about.version}, Node.js ${about.node}`],
      ['Machine', machineText(about.machine)],
    ],
    footer: `zerotime ${about.version} simulate`,
  };
}

/** Whether each limiter kept its bounds, and its peak. */
function boundVerdicts(limiters: readonly LimiterResult[]): Page['verdicts'] {
  const all = limiters.flatMap(({ text, outcomes }) =>
    outcomes.bounds.map((bound, at) => ({
      isGood: bound.held,
      text: `${text.split(' + ')[at] ?? text}: ${describeBound(bound)}`,
    })),
  );
  const broken = all.filter(({ isGood }) => !isGood).length;
  const text =
    broken === 0
      ? 'held: every limiter kept its bound'
      : `BROKEN: ${broken} of ${all.length} bounds`;
  return [{ isGood: broken === 0, text }, ...all];
}

/**
 * The end of the last slot of any limiter, in seconds. Waiting callers are admitted after the last
 * arrival.
 */
function endOf(result: SimulateResult): number {
  const ends = result.limiters.map((one) => {
    const { arrivals, slotSeconds } = ratesByTime(result, one);
    return arrivals.length * slotSeconds;
  });
  return Math.max(...ends);
}

/** One chart per limiter, all with the same axes. */
function rateSection(result: SimulateResult): Section {
  const { limiters } = result;
  const scale = { top: highestOf(result) * 1.05, end: endOf(result) };
  const charts = limiters.map((one, at) => ratesChart(result, one, at, scale));
  return { heading: 'Rate by time', verdicts: [], charts };
}

function colourAt(at: number): (typeof COLOURS)[number] {
  return COLOURS[at % COLOURS.length] ?? 'blue';
}

/** Lines are dashed once all colours are used. */
function lookAt(at: number): Series['look'] {
  return at < COLOURS.length ? 'line' : 'dashes';
}

function ratesChart(
  result: SimulateResult,
  one: LimiterResult,
  at: number,
  scale: { readonly top: number; readonly end: number },
): LineChart {
  const { slotSeconds, arrivals, admitted, bound, isBoundNear } = ratesByTime(result, one);
  const slot = formatSpan(slotSeconds * 1_000);
  // Extends the last step to the length of the others.
  const x = Array.from({ length: arrivals.length + 1 }, (_, slot) => slot * slotSeconds);
  const closed = (values: readonly number[]) => [...values, values.at(-1) ?? 0];
  const most = Number.isFinite(bound) ? `; the bound is ${formatNumber(bound)}/s in that time` : '';
  return {
    kind: 'lines',
    title: `${one.text}, each ${slot}${most}`,
    over: 'time',
    x,
    series: [
      { label: 'arrivals', colour: 'grey', values: closed(arrivals), look: 'area' },
      { label: 'admitted', colour: colourAt(at), values: closed(admitted), look: 'area' },
      ...(isBoundNear
        ? [{ label: 'bound', colour: 'red', values: x.map(() => bound), look: 'dashes' } as const]
        : []),
    ],
    unit: '/s',
    logarithmic: false,
    steps: true,
    ...scale,
    isLow: result.limiters.length > 1,
  };
}

/** The waits of all limiters in shared charts. */
function waitSections(result: SimulateResult): Section[] {
  const { limiters } = result;
  const end = endOf(result);
  const waiting = limiters.some(({ outcomes }) => outcomes.waits.totalCount > 0);
  if (!waiting) return [];
  const [only] = limiters;
  const curve = curveOf('Waits by percentile', limiters, ({ outcomes }) => outcomes.waits);
  const charts: Chart[] =
    limiters.length === 1 && only !== undefined
      ? [
          latencyLines(
            'Waits of admitted callers, by arrival time',
            only.outcomes.waitsByTime,
            end,
          ),
          curve,
          latencyBars('Distribution of waits', only.outcomes.waits, 'admitted'),
        ]
      : [waitsByTime(limiters, end), curve];
  return [{ heading: 'Waits', verdicts: [], charts }];
}

function waitsByTime(limiters: readonly LimiterResult[], end: number): LineChart {
  const lines = limiters.map(({ text, outcomes }, at) => {
    const slots = outcomes.waitsByTime.percentiles(LEAST_FOR_P99);
    return {
      label: text,
      colour: colourAt(at),
      look: lookAt(at),
      points: slots.map((slot) => [middleOf(slot), slot.p99 / 1_000] as const),
    };
  });
  return {
    ...onOneAxis(lines),
    kind: 'lines',
    title: `p99 of the waits of admitted callers, by arrival time, at least ${LEAST_FOR_P99} for each point`,
    over: 'time',
    end,
    unit: ' ms',
    logarithmic: false,
    steps: false,
  };
}

/** Response times at the server, including its queue. */
function responseSections({ limiters, server }: SimulateResult): Section[] {
  if (server === undefined) return [];
  const curve = curveOf(
    'Response times by percentile',
    limiters,
    ({ outcomes }) => outcomes.responses,
  );
  return [{ heading: 'Responses of the server', verdicts: [], charts: [curve] }];
}

function curveOf(
  title: string,
  limiters: readonly LimiterResult[],
  histogramOf: (one: LimiterResult) => Histogram,
): LineChart {
  return percentileCurve(
    title,
    limiters.map(
      (one, at): Distribution => ({
        label: one.text,
        colour: colourAt(at),
        look: lookAt(at),
        histogram: histogramOf(one),
      }),
    ),
  );
}
