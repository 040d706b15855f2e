import { writeFileSync } from 'node:fs';
import type { SimulateResult } from '../../simulate/result.ts';
import type { LimiterResult } from '../../simulate/simulation.ts';
import { formatNumber, formatSpan } from '../format.ts';
import { latencyBars } from '../report/latency-bars.ts';
import { latencyLines } from '../report/latency-lines.ts';
import type { Chart, LineChart, Page, Section } from '../report/page.ts';
import { renderPage } from '../report/render.ts';
import { ratesByTime } from './chart-data.ts';
import { cellsOf, columnsOf, describeArrivals, describeBound, describeCallers } from './summary.ts';

/** Writes an HTML page with charts. */
export function writeReport(path: string, result: SimulateResult, version: string): void {
  writeFileSync(path, renderPage(reportPage(result, version)));
}

function reportPage(result: SimulateResult, version: string): Page {
  const { source, limiters, server } = result;
  return {
    title: source.text,
    facts: [
      ['Arrivals', describeArrivals(result)],
      ...(source.seed === undefined ? [] : [['Seed', String(source.seed)] as const]),
      ...(server === undefined ? [] : [['Server', server] as const]),
      ['Callers', describeCallers(result)],
    ],
    sections: [
      {
        heading: limiters.length === 1 ? 'What became of them' : 'Side by side',
        verdicts: [],
        table: {
          columns: ['Limiter', ...columnsOf(result)],
          rows: limiters.map((one) => [one.text, ...cellsOf(one, result)]),
        },
        charts: [],
      },
      ...limiters.map((one) => limiterSection(result, one)),
    ],
    footer: `zerotime ${version} simulate`,
  };
}

function limiterSection(result: SimulateResult, one: LimiterResult): Section {
  const { waits, waitsByTime, bounds } = one.outcomes;
  const charts: Chart[] = [ratesChart(result, one)];
  if (waits.totalCount > 0) {
    charts.push(
      latencyLines(
        'Waits of those admitted, by the time of their arrival',
        waitsByTime.percentiles(),
      ),
      latencyBars('How many waited how long', waits, 'admitted'),
    );
  }
  const verdicts = bounds.map((bound) => ({ isGood: bound.held, text: describeBound(bound) }));
  return { heading: one.text, verdicts, charts };
}

function ratesChart(result: SimulateResult, one: LimiterResult): LineChart {
  const { slotSeconds, arrivals, admitted, bound, isBoundNear } = ratesByTime(result, one);
  const slot = formatSpan(slotSeconds * 1_000);
  // Extends the last step to the length of the others.
  const x = Array.from({ length: arrivals.length + 1 }, (_, slot) => slot * slotSeconds);
  const closed = (values: readonly number[]) => [...values, values.at(-1) ?? 0];
  return {
    kind: 'lines',
    title: `Rate by time, each ${slot}; the bound is ${formatNumber(bound)}/s in that time`,
    x,
    series: [
      { label: 'arrivals', colour: 'grey', values: closed(arrivals), look: 'area' },
      { label: 'admitted', colour: 'blue', values: closed(admitted), look: 'area' },
      ...(isBoundNear
        ? [{ label: 'bound', colour: 'red', values: x.map(() => bound), look: 'dashes' } as const]
        : []),
    ],
    unit: '/s',
    logarithmic: false,
    steps: true,
  };
}
