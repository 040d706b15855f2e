import { decodeFromCompressedBase64, type Histogram } from 'hdr-histogram-js';
import type { DriveResult, DriveTimes } from '../../load/judge/drive-result.ts';
import { safeCommandLine } from '../about.ts';
import { formatLatency, formatShortTime, type Noun } from '../format.ts';
import { EXIT } from '../output.ts';

/** What a run counts. */
export function nounOf({ options }: Pick<DriveResult, 'options'>): Noun {
  return options.request === null ? 'calls' : 'requests';
}

/** A phase of a request or call, with its name and meaning. */
export type Phase = readonly [keyof DriveTimes, label: string, meaning: string];

type Phases = readonly [Phase, Phase, Phase, Phase];
const OF_REQUESTS: Phases = [
  ['latency', 'in all', 'due → answered'],
  ['clientLag', 'client', 'due → noticed by this client'],
  ['queued', 'queue', 'noticed → a connection is free'],
  ['response', 'response', 'sent → answered'],
];
const OF_CALLS: Phases = [
  ['latency', 'in all', 'due → done'],
  ['clientLag', 'client', 'due → noticed by this client'],
  ['queued', 'queue', 'noticed → started'],
  ['response', 'call', 'started → done'],
];

/** The phases that a run measures; the first one is the most important. */
export function phasesOf(result: DriveResult): readonly [Phase, ...Phase[]] {
  if (result.loop === 'closed') return [OF_CALLS[3]];
  return nounOf(result) === 'calls' ? OF_CALLS : OF_REQUESTS;
}

/** The distribution of the most important phase. */
export function mainTimes(result: DriveResult) {
  return result.times[phasesOf(result)[0][0]];
}

const PERCENTILES = ['p50', 'p90', 'p99', 'p99.9', 'max'] as const;
export const TIME_HEADS: readonly string[] = PERCENTILES;

/** The times of a phase at {@link TIME_HEADS}. */
export function timeCells({ times }: DriveResult, phase: keyof DriveTimes): string[] {
  const { ms, hdrUnit } = times[phase];
  return PERCENTILES.map((at) => timeText(ms?.[at], hdrUnit));
}

/** Formats milliseconds as precisely as they were measured. */
function timeText(ms: number | undefined, unit: 'us' | 'ns'): string {
  if (ms === undefined) return 'none';
  return unit === 'ns' ? formatShortTime(1e6 * ms) : formatLatency(1e3 * ms);
}

export function histogramOf({ times }: DriveResult, phase: keyof DriveTimes): Histogram {
  return decodeFromCompressedBase64(times[phase].hdrHistogram);
}

/** The exit codes, for the help. */
export const EXIT_CODES = `Exit codes:
  0    all is well
  1    no request or call succeeded, a thread crashed, the command line is invalid, or a file or standard
       output could not be written
  2    the limiter admitted more requests than it guarantees
  3    a gate failed: more than --max-pN or --max-errors, or less than --min-rate
  130  interrupted before the first request that counts, or twice
`;

export function exitCode({ guarantee, calls, threads, gates }: DriveResult): number {
  if (guarantee?.held === false) return EXIT.guaranteeBroken;
  if (calls.succeeded === 0 || threads.some(({ crash }) => crash !== null)) return EXIT.failed;
  return gates.some(({ passed }) => !passed) ? EXIT.gateFailed : EXIT.ok;
}

/** The file of `--json`: the result of `drive`, and what the command knows of the run. */
export function jsonOf(result: DriveResult): object {
  return { commandLine: safeCommandLine(), exitCode: exitCode(result), ...result };
}
