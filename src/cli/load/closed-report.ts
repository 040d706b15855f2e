import { decodeFromCompressedBase64 } from 'hdr-histogram-js';
import type { DriveResult } from '../../load/api/drive-result.ts';
import { percentileMs } from '../../load/api/times.ts';
import type { ClosedOptions } from '../../load/closed/run-closed.ts';
import { type About, machineText } from '../about.ts';
import { formatCount, formatRate, formatShare, formatShortTime, formatSpan } from '../format.ts';
import { writeOutput } from '../output-files.ts';
import type { Facts, Page, Section } from '../report/page.ts';
import { percentileCurve } from '../report/percentile-curve.ts';
import { renderPage } from '../report/render.ts';
import { closedVerdict, paceOf } from './closed-summary.ts';
import { countOf } from './noun.ts';

const PERCENTILES = [50, 90, 99, 99.9, 100] as const;
const NS_PER_MS = 1e6;

/** Writes an HTML page about a run with `--rate max`. */
export function writeClosedReport(
  path: string,
  result: DriveResult,
  options: ClosedOptions,
  about: About,
): void {
  writeOutput(path, renderPage(closedPage(result, options, about)));
}

function closedPage(result: DriveResult, options: ClosedOptions, about: About): Page {
  return {
    title: result.url,
    verdicts: closedVerdict(result),
    facts: figures(result),
    sections: [
      roundSection(result),
      timeSection(result),
      errorSection(result),
      threadSection(result),
    ],
    circumstances: circumstances(result, options, about),
    footer: `zerotime ${about.version} load, Node.js ${about.node}`,
  };
}

function timeAt({ times }: DriveResult, percentile: number): string {
  const ms = percentileMs(times.response, percentile);
  return ms === undefined ? 'none' : formatShortTime(ms * NS_PER_MS);
}

function figures(result: DriveResult): Facts {
  const { calls, closed } = result;
  const { callsPerSecond: rate, nsPerCall: ns } = closed ?? {};
  return [
    ['Median round', formatRate(rate?.median ?? 0)],
    ['Per call and thread', ns == null ? 'none' : formatShortTime(ns.median)],
    ['Calls', formatCount(calls.sent)],
    ['p99', timeAt(result, 99)],
    ['Longest', timeAt(result, 100)],
    ['Failed', formatShare(calls.failed, calls.succeeded + calls.failed)],
  ];
}

function roundSection({ closed }: DriveResult): Section {
  const rounds = closed?.rounds ?? [];
  return {
    heading: 'Rounds',
    verdicts: [],
    table: {
      columns: ['Round', 'calls/s', 'per call and thread'],
      rows: rounds.map(({ callsPerSecond, nsPerCall }, at) => [
        String(at + 1),
        formatRate(callsPerSecond),
        nsPerCall === null ? 'none' : formatShortTime(nsPerCall),
      ]),
    },
    charts: [
      {
        kind: 'bars',
        title: 'Calls per second in each round',
        labels: rounds.map((_, at) => String(at + 1)),
        values: rounds.map(({ callsPerSecond }) => Math.round(callsPerSecond)),
        unit: 'calls/s',
      },
    ],
  };
}

function timeSection(result: DriveResult): Section {
  const { response } = result.times;
  if (response.count === 0) {
    return { heading: 'A call', verdicts: [{ isGood: false, text: 'No call ended.' }], charts: [] };
  }
  const histogram = decodeFromCompressedBase64(response.hdrHistogram);
  return {
    heading: 'A call',
    verdicts: [],
    table: {
      columns: ['From and to', ...PERCENTILES.map((p) => (p === 100 ? 'max' : `p${p}`))],
      rows: [['started → done', ...PERCENTILES.map((p) => timeAt(result, p))]],
    },
    charts: [
      // The histogram is in nanoseconds.
      percentileCurve(
        'Time of a call at each percentile',
        [{ label: 'started → done', colour: 'blue', histogram }],
        ' µs',
      ),
    ],
    notes: ['Calls shorter than about 25 µs are timed together: their times are means.'],
  };
}

function errorSection({ errors }: DriveResult): Section {
  return {
    heading: 'Errors',
    verdicts: errors.length === 0 ? [{ isGood: true, text: 'No errors.' }] : [],
    shares: errors.map(({ kind, example, count }) => ({ name: `${kind}: ${example}`, count })),
    charts: [],
  };
}

function threadSection({ threads, closed }: DriveResult): Section {
  return {
    heading: 'Threads',
    verdicts: threads.flatMap(({ crash }, at) =>
      crash === null
        ? []
        : [
            {
              isGood: false,
              text: `Thread ${at + 1} crashed, its results are incomplete: ${crash}`,
            },
          ],
    ),
    table: {
      columns: ['Thread', 'calls', 'calls/s', 'per call'],
      rows: threads.map(({ calls }, at) => {
        const pace = paceOf((closed?.rounds ?? []).map((round) => round.threads[at]));
        return [String(at + 1), formatCount(calls.sent), pace.perSecond, pace.time];
      }),
    },
    charts: [],
  };
}

function circumstances(result: DriveResult, options: ClosedOptions, about: About): Facts {
  const { startedAt, elapsedMs, interrupted, warmUp } = result;
  const span = formatSpan(Math.round(elapsedMs));
  return [
    ['Command', about.commandLine],
    ['Started', startedAt],
    ['Time', `${span}${interrupted ? ', ended early' : ''}`],
    ['Threads', String(options.threads)],
    ['Concurrency', `${options.task.concurrency} per thread`],
    ['Warm-up', `${countOf(warmUp.sent, 'calls')}, not in any figure`],
    ['Versions', `zerotime ${about.version}, Node.js ${about.node}`],
    ['Machine', machineText(about.machine)],
  ];
}
