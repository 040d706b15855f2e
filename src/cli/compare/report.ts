import { type About, machineText } from '../about.ts';
import { formatCount, formatSpan } from '../format.ts';
import { type Noun, OUTCOME } from '../load/noun.ts';
import { writeOutput } from '../output-files.ts';
import { onOneAxis } from '../report/one-axis.ts';
import type { LineChart, Page, Section } from '../report/page.ts';
import { COLOURS } from '../report/page.ts';
import { type Distribution, percentileCurve } from '../report/percentile-curve.ts';
import { renderPage } from '../report/render.ts';
import {
  assumptions,
  type Comparison,
  findingText,
  isNoWorse,
  type SideComparison,
} from './comparison.ts';
import type { RecordedRun } from './recorded-run.ts';
import type { Side } from './sides.ts';
import { changeText, findingOf, intervalText, nameOf, valueText } from './verdict.ts';

/** Writes an HTML page with all runs. */
export function writeReport(path: string, comparison: Comparison, about: About): void {
  writeOutput(path, renderPage(reportPage(comparison, about)));
}

/** A run and the colour of its side. */
interface ColouredRun {
  readonly run: RecordedRun;
  readonly colour: (typeof COLOURS)[number];
  readonly look: 'line' | 'dashes';
}

function reportPage(comparison: Comparison, about: About): Page {
  const { noun, baseline, others, allowed, remarks } = comparison;
  const isClosed = baseline.runs.some(({ rounds }) => rounds !== undefined);
  const sides = [baseline, ...others.map(({ side }) => side)];
  const runs = sides.flatMap(coloured);
  return {
    title: `${sides.map(({ name }) => name).join(' vs ')}`,
    verdicts: [
      ...allowed.map((text) => ({ isGood: true, isNote: true, text: `Differs: ${text}` })),
      ...others.flatMap(verdictsOf),
    ],
    facts: [
      ['Baseline', baseline.name],
      ['Runs', sides.map((side) => side.runs.length).join(' vs ')],
    ],
    sections: [
      ...others.map(sideSection),
      {
        heading: 'All runs',
        verdicts: remarks.map((text) => ({ isGood: false, text })),
        table: runTable(runs, noun),
        // Runs as fast as possible have no latency.
        charts: isClosed ? [] : [p99Chart(runs, noun), curve(runs, noun)],
        notes: assumptions(comparison),
      },
    ],
    circumstances: [
      ['Command', about.commandLine],
      ['Versions', `zerotime ${about.version}, Node.js ${about.node}`],
      ['Machine', machineText(about.machine)],
    ],
    footer: `zerotime ${about.version} compare`,
  };
}

function verdictsOf(one: SideComparison): Page['verdicts'] {
  return [
    { isGood: isNoWorse(one), text: `${one.side.name}: ${findingText(one.lines)}` },
    ...one.failures.map((text) => ({ isGood: false, text: `gate failed: ${text}` })),
  ];
}

/** Sides take the colours of the palette in turn; once all are used, lines are dashed. */
function coloured({ runs }: Side, at: number): ColouredRun[] {
  const colour = COLOURS[at % COLOURS.length] ?? 'blue';
  return runs.map((run) => ({ run, colour, look: at < COLOURS.length ? 'line' : 'dashes' }));
}

function sideSection({ side, noun, lines, undecided }: SideComparison): Section {
  return {
    heading: `${side.name} beside the baseline`,
    verdicts: [],
    table: {
      columns: ['Figure', 'baseline', 'compared', 'change', '95 % confidence', 'finding'],
      rows: lines.map((line) => [
        nameOf(line),
        valueText(line, line.baseline),
        valueText(line, line.other),
        changeText(line, line.difference.value),
        intervalText(line, noun),
        findingOf(line).text,
      ]),
    },
    charts: [],
    notes: undecided === undefined ? [] : [undecided],
  };
}

function runTable(runs: readonly ColouredRun[], noun: Noun): NonNullable<Section['table']> {
  return {
    columns: ['Run', noun, 'failed', 'time'],
    rows: runs.map(({ run }) => [
      run.path,
      formatCount(run.sent),
      formatCount(run.failed),
      formatSpan(Math.round(run.elapsedMs)),
    ]),
  };
}

function p99Chart(runs: readonly ColouredRun[], noun: Noun): LineChart {
  const { x, series } = onOneAxis(
    runs.map(({ run, colour, look }) => ({
      label: run.path,
      colour,
      look,
      points: run.p99ByTime,
    })),
  );
  const values = series.flatMap((one) => one.values);
  return {
    kind: 'lines',
    title: `p99 from due to ${OUTCOME[noun]}, by due time`,
    over: 'time',
    x,
    end: Math.max(...runs.map(({ run }) => run.elapsedMs)) / 1_000,
    series,
    unit: ' ms',
    logarithmic: x.length > 0 && values.every((ms) => ms === null || ms > 0),
    steps: false,
  };
}

function curve(runs: readonly ColouredRun[], noun: Noun): LineChart {
  return percentileCurve(
    `Latency by percentile, from due to ${OUTCOME[noun]}`,
    runs.map(
      ({ run, colour, look }): Distribution => ({
        label: run.path,
        colour,
        look,
        histogram: run.latency,
      }),
    ),
  );
}
