import type { Histogram } from 'hdr-histogram-js';
import { LEAST_FOR } from '../../load/measure/latency-timeline.ts';
import { thisClient } from '../../load/measure/machine.ts';
import type { LimiterResult, SimulateResult } from '../../simulate/run.ts';
import { clientFacts, safeCommandLine } from '../about.ts';
import { formatNumber, formatSpan } from '../format.ts';
import {
  latencyBars,
  latencyLines,
  latencyPoints,
  middleOf,
  percentileCurve,
  rateSteps,
  sideLook,
} from '../report/distributions.ts';
import type { Chart, Page, Section } from '../report/page.ts';
import { coursesOf, type RatesByTime, ratesByTime } from './outcome.ts';
import { boundVerdicts, cellsOf, columnsOf, describeArrivals, describeCallers } from './summary.ts';

/** The page of `--report`. */
export function pageOf(result: SimulateResult): Page {
  const client = thisClient();
  const { source, limiters, server } = result;
  return {
    title: source.text,
    verdicts: verdictsOf(result),
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
      ...courseSections(result),
      ...waitSections(result),
      ...responseSections(result),
    ],
    circumstances: [['Command', safeCommandLine()], ...clientFacts(client)],
    footer: `zerotime ${client.zerotime} simulate`,
  };
}

/** Whether all bounds were kept, and each of them. */
function verdictsOf(result: SimulateResult): Page['verdicts'] {
  const all = boundVerdicts(result);
  const broken = all.filter(({ isGood }) => !isGood).length;
  const text =
    broken === 0
      ? 'held: every limiter kept its bound'
      : `BROKEN: ${broken} of ${all.length} bounds`;
  return [{ isGood: broken === 0, text }, ...all];
}

/** One chart per limiter, all with the same axes. */
function rateSection(result: SimulateResult): Section {
  const { rates, top, endSeconds: end } = ratesByTime(result);
  const scale = { top: top * 1.05, end, isLow: rates.length > 1 };
  const charts = rates.map((one, at) => ({ ...ratesChart(one, at), ...scale }));
  return { heading: 'Rate by time', verdicts: [], charts };
}

function ratesChart(rates: RatesByTime, at: number): Chart {
  const { limiter, slotSeconds, arrivals, admitted, bound, isBoundNear } = rates;
  const slot = formatSpan(slotSeconds * 1_000);
  const most = Number.isFinite(bound) ? `; the bound is ${formatNumber(bound)}/s in that time` : '';
  return rateSteps(
    `${limiter.text}, each ${slot}${most}`,
    arrivals.map((_, slot) => (slot + 1) * slotSeconds),
    [
      { label: 'arrivals', colour: 'grey', values: arrivals },
      { label: 'admitted', colour: sideLook(at).colour, values: admitted },
    ],
    isBoundNear && ['bound', bound],
  );
}

/** The waits of all limiters in shared charts. */
function waitSections(result: SimulateResult): Section[] {
  const { limiters } = result;
  const { endSeconds: end } = ratesByTime(result);
  const waiting = limiters.some(({ outcomes }) => outcomes.waits.totalCount > 0);
  if (!waiting) return [];
  const [only] = limiters;
  const curve = curveOf('Waits by percentile', limiters, ({ outcomes }) => outcomes.waits);
  const charts: Chart[] =
    limiters.length === 1 && only !== undefined
      ? [
          latencyLines(
            'Waits of admitted callers, by arrival time',
            only.outcomes.waitsByTime.slots(),
            end,
          ),
          curve,
          latencyBars('Distribution of waits', only.outcomes.waits, 'admitted'),
        ]
      : [waitsByTime(limiters, end), curve];
  return [{ heading: 'Waits', verdicts: [], charts }];
}

function waitsByTime(limiters: readonly LimiterResult[], end: number): Chart {
  const least = LEAST_FOR.p99;
  const lines = limiters.map(({ text, outcomes }, at) => {
    const slots = outcomes.waitsByTime.slotsOf(least);
    const points = slots.map((slot) => [middleOf(slot), slot.p99Ms ?? slot.maxMs] as const);
    return { label: text, ...sideLook(at), points };
  });
  const title = `p99 of the waits of admitted callers, by arrival time, at least ${least} for each point`;
  return { ...latencyPoints(title, lines, end), logarithmic: false };
}

/** A limiter that adapts, over time, beside the others. */
function courseSections(result: SimulateResult): Section[] {
  const charts = coursesOf(result).map(({ title, unit, lines, top }): Chart => {
    const named = lines.map((points, at) => ({
      ...{ label: result.limiters[at]?.text ?? '', ...sideLook(at) },
      points: points.map(([second, value]) => [second, Math.min(value, top)] as const),
    }));
    const chart = latencyPoints(title, named, result.durationMs / 1_000);
    return { ...chart, unit, top, logarithmic: false };
  });
  return charts.length === 0 ? [] : [{ heading: 'Adapting', verdicts: [], charts }];
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
): Chart {
  const lines = limiters.map((one, at) => ({
    label: one.text,
    ...sideLook(at),
    histogram: histogramOf(one),
  }));
  return percentileCurve(title, lines);
}
