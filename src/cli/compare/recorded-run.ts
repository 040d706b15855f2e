import { readFileSync } from 'node:fs';
import { decodeFromCompressedBase64 } from 'hdr-histogram-js';
import type { RunFigures } from '../../load/comparison.ts';
import { safeUrl } from '../command-line.ts';
import type { Noun } from '../load/noun.ts';

/** The compared parts of a `--json` file. */
export interface RecordedRun extends RunFigures {
  readonly path: string;
  /** What it counts. */
  readonly noun: Noun;
  /** Target and options. They must be equal for runs to be comparable. */
  readonly conditions: ReadonlyMap<string, string>;
  /** Versions and machine. Differences are reported, not refused. */
  readonly circumstances: ReadonlyMap<string, string>;
  /** Reasons not to trust its figures. */
  readonly doubts: readonly string[];
  /** Pairs of seconds and milliseconds. */
  readonly p99ByTime: readonly (readonly [atS: number, ms: number])[];
}

type Data = Readonly<Record<string, unknown>>;

/** @throws Error that names the file, if it is not a load result */
export function readRun(path: string): RecordedRun {
  let data: unknown;
  try {
    data = JSON.parse(readFileSync(path, 'utf8'));
  } catch (error) {
    throw new Error(`${path} cannot be read as JSON: ${(error as Error).message}`);
  }
  try {
    return recordedRun(path, data);
  } catch (error) {
    throw new Error(`${path} is not a result of zerotime load --json: ${(error as Error).message}`);
  }
}

function recordedRun(path: string, data: unknown): RecordedRun {
  const run = objectAt({ run: data }, 'run');
  const noun = 'calls' in run ? 'calls' : 'requests';
  const counts = objectAt(run, noun);
  const latency = objectAt(objectAt(run, 'times'), 'latency');
  const options = objectAt(run, 'options');
  return {
    path,
    noun,
    sent: numberAt('sent' in run ? run : counts, 'sent'),
    elapsedMs: numberAt(run, 'elapsedMs'),
    admittedPer100Ms: numbersAt(run, 'admittedPer100Ms'),
    succeeded: numberAt(counts, 'succeeded'),
    failed: numberAt(counts, 'failed'),
    latency: decodeFromCompressedBase64(textAt(latency, 'hdrHistogram')),
    rounds: roundsOf(run['closed']),
    conditions: conditionsOf(targetOf(run), { arrivals: run['arrivals'], ...options }),
    circumstances: circumstancesOf(run),
    doubts: doubtsOf(run, numberAt(options, 'durationMs')),
    p99ByTime: p99ByTime(run['latencyByTime']),
  };
}

/** A stored result of `drive` has only a URL. */
function targetOf(run: Data): Data {
  return 'target' in run ? objectAt(run, 'target') : { url: safeUrl(textAt(run, 'url')) };
}

/** Calls per second in each round of a run as fast as possible; otherwise undefined. */
function roundsOf(closed: unknown): number[] | undefined {
  if (!isObject(closed)) return undefined;
  const { rounds } = closed;
  if (!Array.isArray(rounds)) throw new Error('closed.rounds must be a list');
  return rounds.map((round, at) => {
    return numberAt(objectAt({ [`rounds ${at}`]: round }, `rounds ${at}`), 'callsPerSecond');
  });
}

/** Units to strip from names: `ratePerSecond` becomes `rate`. */
const UNIT = /(PerSecond|Ms|Bytes)$/;

function conditionsOf(target: Data, options: Data): ReadonlyMap<string, string> {
  const url = target['embeddedServer'] === true ? 'the embedded server' : target['url'];
  const { embeddedServer: _, ...rest } = target;
  const all = Object.entries({ ...rest, url, ...options });
  return new Map(
    all
      .filter(([, value]) => value !== null && value !== undefined)
      .map(([name, value]) => [name.replace(UNIT, ''), conditionText(value)]),
  );
}

/**
 * Omits the seed of arrivals: it is random by default, and the load is equivalent with any seed.
 */
function conditionText(value: unknown): string {
  if (!isObject(value)) return textOf(value);
  const { seed: _, ...rest } = value;
  return textOf(rest);
}

function circumstancesOf(run: Data): ReadonlyMap<string, string> {
  const { zerotime, node, machine } = run;
  const known: [string, string][] = [['Node.js', String(node)]];
  if (zerotime !== undefined) known.push(['zerotime', String(zerotime)]);
  if (isObject(machine)) known.push(['machine', Object.values(machine).join(', ')]);
  return new Map(known);
}

function doubtsOf(run: Data, durationMs: number): string[] {
  const { fitness, guarantee, interrupted } = run;
  const elapsedMs = numberAt(run, 'elapsedMs');
  const limits = isObject(fitness) && Array.isArray(fitness['limits']) ? fitness['limits'] : [];
  // Allow for threads that learn of the end slightly late.
  const isShort = elapsedMs < 0.99 * durationMs;
  const texts = limits.filter(isObject).map((limit) => String(limit['text'] ?? limit['kind']));
  return [
    ...(isObject(guarantee) && guarantee['held'] === false ? ['the guarantee was broken'] : []),
    ...(isShort ? [`ended after ${Math.round(elapsedMs)} ms of ${durationMs}`] : []),
    ...(!isShort && interrupted === true ? ['ended early'] : []),
    ...(texts.length === 0 ? [] : [`not fit to measure: ${texts.join('; ')}`]),
  ];
}

function p99ByTime(slots: unknown): RecordedRun['p99ByTime'] {
  if (!Array.isArray(slots)) return [];
  return slots.filter(isObject).map((slot) => {
    const middleMs = (numberAt(slot, 'startsAfterMs') + numberAt(slot, 'endsAfterMs')) / 2;
    return [middleMs / 1_000, numberAt(slot, 'p99Ms')] as const;
  });
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

function isObject(value: unknown): value is Data {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function objectAt(data: Data, name: string): Data {
  const value = data[name];
  if (!isObject(value)) throw new Error(`${name} must be an object, got ${textOf(value)}`);
  return value;
}

function numberAt(data: Data, name: string): number {
  const value = data[name];
  if (typeof value !== 'number') throw new Error(`${name} must be a number, got ${textOf(value)}`);
  return value;
}

function textAt(data: Data, name: string): string {
  const value = data[name];
  if (typeof value !== 'string') throw new Error(`${name} must be text, got ${textOf(value)}`);
  return value;
}

function numbersAt(data: Data, name: string): number[] {
  const value = data[name];
  if (!Array.isArray(value) || !value.every((one) => typeof one === 'number')) {
    throw new Error(`${name} must be a list of numbers`);
  }
  return value;
}
