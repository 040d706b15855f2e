import { thisClient } from '../../load/measure/machine.ts';
import { clientFacts, safeCommandLine } from '../about.ts';
import { formatCount, formatSpan, type Noun } from '../format.ts';
import { latencyPoints, middleOf, percentileCurve, sideLook } from '../report/distributions.ts';
import type { Chart, Page, Section } from '../report/page.ts';
import {
  assumptions,
  type Comparison,
  type Side,
  type SideComparison,
  verdictsOf,
} from './comparison.ts';
import type { RecordedRun } from './recorded-run.ts';
import { cellsOf, LINE_HEADS } from './verdict.ts';

/** A run and the look of its side. */
interface ColouredRun extends ReturnType<typeof sideLook> {
  readonly run: RecordedRun;
}

/** The page of `--report`. */
export function pageOf(comparison: Comparison): Page {
  const client = thisClient();
  const { noun, isClosed, baseline, others, allowed, remarks } = comparison;
  const sides = [baseline, ...others.map(({ side }) => side)];
  const runs = sides.flatMap(coloured);
  return {
    title: `${sides.map(({ name }) => name).join(' vs ')}`,
    verdicts: [
      ...allowed.map((text) => ({ isGood: true, isNote: true, text: `Differs: ${text}` })),
      ...others.flatMap((one) => {
        const [{ isGood, text }, ...failures] = verdictsOf(one);
        return [{ isGood, text: `${one.side.name}: ${text}` }, ...failures];
      }),
    ],
    facts: [
      ['Baseline', baseline.name],
      ['Runs', sides.map((side) => side.runs.length).join(' vs ')],
    ],
    sections: [
      ...others.map((one) => sideSection(one, noun)),
      {
        heading: 'All runs',
        verdicts: remarks.map((text) => ({ isGood: false, text })),
        table: runTable(runs, noun),
        charts: isClosed ? [] : [latencyChart(runs, noun), curve(runs, noun)],
        notes: assumptions(comparison),
      },
    ],
    circumstances: [['Command', safeCommandLine()], ...clientFacts(client)],
    footer: `zerotime ${client.zerotime} compare`,
  };
}

function coloured({ runs }: Side, at: number): ColouredRun[] {
  return runs.map((run) => ({ run, ...sideLook(at) }));
}

function sideSection({ side, lines, undecided }: SideComparison, noun: Noun): Section {
  return {
    heading: `${side.name} beside the baseline`,
    verdicts: [],
    table: {
      columns: ['Figure', ...LINE_HEADS, 'finding'],
      rows: lines.map((line) => cellsOf(line, noun)),
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
      formatCount(run.calls.sent),
      formatCount(run.calls.failed),
      formatSpan(Math.round(run.elapsedMs)),
    ]),
  };
}

/** How requests and calls end. */
function ended(noun: Noun): string {
  return noun === 'calls' ? 'done' : 'answered';
}

/** The p99 over time or, if a run is too short for it, the maximum. */
function latencyChart(runs: readonly ColouredRun[], noun: Noun): Chart {
  const byTime = ({ latencyByTime }: RecordedRun, field: 'p99Ms' | 'maxMs') =>
    latencyByTime.flatMap((slot) => {
      const ms = slot[field];
      return ms == null ? [] : [[middleOf(slot), ms] as const];
    });
  const isP99 = runs.every(({ run }) => byTime(run, 'p99Ms').length > 0);
  const lines = runs.map(({ run, colour, look }) => {
    return { label: run.path, colour, look, points: byTime(run, isP99 ? 'p99Ms' : 'maxMs') };
  });
  const title = `${isP99 ? 'p99' : 'Maximum'} from due to ${ended(noun)}, by due time`;
  return latencyPoints(title, lines, Math.max(...runs.map(({ run }) => run.elapsedMs)) / 1_000);
}

function curve(runs: readonly ColouredRun[], noun: Noun): Chart {
  return percentileCurve(
    `Latency by percentile, from due to ${ended(noun)}`,
    runs.map(({ run, colour, look }) => {
      return { label: run.path, colour, look, histogram: run.latency };
    }),
  );
}
