import { readFileSync } from 'node:fs';
import { decodeFromCompressedBase64 } from 'hdr-histogram-js';
import type { RunFigures } from '../../load/judge/comparison.ts';
import type { FitnessLimit } from '../../load/judge/fitness.ts';
import { safeText } from '../../load/plan/redact.ts';
import type { Noun } from '../format.ts';
import { limitText } from '../load/verdict.ts';

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
  /** Pairs of seconds and milliseconds; empty if the run is too short for p99. */
  readonly p99ByTime: readonly (readonly [atS: number, ms: number])[];
  /** The longest latencies, likewise. */
  readonly maxByTime: readonly (readonly [atS: number, ms: number])[];
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
  const run = valueAt({ run: data }, 'run', 'object');
  const { request, ...options } = valueAt(run, 'options', 'object');
  const noun = isObject(request) ? 'requests' : 'calls';
  return {
    path,
    noun,
    sent: valueAt(run, 'calls.sent', 'number'),
    elapsedMs: valueAt(run, 'elapsedMs', 'number'),
    admittedPer100Ms: valueAt(run, 'admittedPer100Ms', 'list of numbers'),
    succeeded: valueAt(run, 'calls.succeeded', 'number'),
    failed: valueAt(run, 'calls.failed', 'number'),
    latency: decodeFromCompressedBase64(valueAt(run, 'times.latency.hdrHistogram', 'text')),
    partsMs: new Map(
      PARTS.map(([percentile, name]) => {
        return [percentile, latencyByTime(run['latencyByTime'], name).map(([, ms]) => ms)];
      }),
    ),
    rounds: roundsOf(run['closed']),
    conditions: conditionsOf({
      url:
        run['embeddedServer'] === true
          ? 'the embedded server'
          : safeText(valueAt(run, 'url', 'text')),
      arrivals: run['arrivals'],
      processes: run['processes'],
      ...options,
      ...(isObject(request) && request),
    }),
    circumstances: circumstancesOf(run, hashesOf(run)),
    doubts: doubtsOf(run, valueAt(run, 'options.durationMs', 'number'), noun),
    p99ByTime: latencyByTime(run['latencyByTime'], 'p99Ms'),
    maxByTime: latencyByTime(run['latencyByTime'], 'maxMs'),
  };
}

/** The percentiles of a part of a run. */
const PARTS = [
  [50, 'p50Ms'],
  [90, 'p90Ms'],
  [99, 'p99Ms'],
] as const;

/** Calls per second in each round of a run as fast as possible; otherwise undefined. */
function roundsOf(closed: unknown): number[] | undefined {
  if (!isObject(closed)) return undefined;
  const { rounds } = closed;
  if (!Array.isArray(rounds)) throw new Error('closed.rounds must be a list');
  return rounds.map((_, at) => valueAt(closed, `rounds.${at}.callsPerSecond`, 'number'));
}

/** See `safeHeaders`. */
const HASHES = /\bhash:[0-9a-f]{8}\b/g;
/** Units to strip from names: `ratePerSecond` becomes `rate`. */
const UNIT = /(PerSecond|Ms|Bytes)$/;

function conditionsOf(terms: Data): ReadonlyMap<string, string> {
  return new Map(
    Object.entries(terms)
      .filter(([, value]) => value !== null && value !== undefined)
      .map(([name, value]) => [name.replace(UNIT, ''), withoutHashes(conditionText(value))]),
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

/** Hides the hashes of secret headers: a token that was renewed is no other load. */
function withoutHashes(text: string): string {
  return text.replaceAll(HASHES, '***');
}

/** The hashes of secret headers. */
function hashesOf({ options }: Data): string {
  return (textOf(options).match(HASHES) ?? []).join(' ');
}

function circumstancesOf(run: Data, hashes: string): ReadonlyMap<string, string> {
  const { zerotime, node, machine } = run;
  const known: [string, string][] = [['Node.js', String(node)]];
  if (hashes !== '') known.push(['secret headers', hashes]);
  if (zerotime !== undefined) known.push(['zerotime', String(zerotime)]);
  if (isObject(machine)) known.push(['machine', Object.values(machine).join(', ')]);
  return new Map(known);
}

function doubtsOf(run: Data, durationMs: number, noun: Noun): string[] {
  const { fitness, guarantee, interrupted } = run;
  const elapsedMs = valueAt(run, 'elapsedMs', 'number');
  const limits = isObject(fitness) && Array.isArray(fitness['limits']) ? fitness['limits'] : [];
  // Allow for threads that learn of the end slightly late.
  const isShort = elapsedMs < 0.99 * durationMs;
  // As the result of `drive` has them; `limitText` has no text for others.
  const texts = limits
    .filter(isObject)
    .map((limit) => limitText(limit as unknown as FitnessLimit, noun) ?? String(limit['kind']));
  return [
    ...(isObject(guarantee) && guarantee['held'] === false ? ['the guarantee was broken'] : []),
    ...(isShort ? [`ended after ${Math.round(elapsedMs)} ms of ${durationMs}`] : []),
    ...(!isShort && interrupted === true ? ['ended early'] : []),
    ...(texts.length === 0 ? [] : [`not fit to measure: ${texts.join('; ')}`]),
  ];
}

function latencyByTime(slots: unknown, name: string): RecordedRun['p99ByTime'] {
  if (!Array.isArray(slots)) return [];
  const known = slots.filter(isObject).filter((slot) => slot[name] !== null);
  return known.map((slot) => {
    const middleMs =
      (valueAt(slot, 'startsAfterMs', 'number') + valueAt(slot, 'endsAfterMs', 'number')) / 2;
    return [middleMs / 1_000, valueAt(slot, name, 'number')] as const;
  });
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

function isObject(value: unknown): value is Data {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

interface Types {
  readonly object: Data;
  readonly number: number;
  readonly text: string;
  readonly 'list of numbers': readonly number[];
}

const isNumber = (value: unknown) => typeof value === 'number';
const IS: Readonly<Record<keyof Types, (value: unknown) => boolean>> = {
  object: isObject,
  number: isNumber,
  text: (value) => typeof value === 'string',
  'list of numbers': (value) => Array.isArray(value) && value.every(isNumber),
};

/** The value at a path such as `calls.sent`. */
function valueAt<Type extends keyof Types>(data: Data, path: string, type: Type): Types[Type] {
  const step = (value: unknown, name: string) =>
    typeof value === 'object' && value !== null ? (value as Data)[name] : undefined;
  const value = path.split('.').reduce<unknown>(step, data);
  if (IS[type](value)) return value as Types[Type]; // as checked
  const article = type === 'text' ? '' : type === 'object' ? 'an ' : 'a ';
  throw new Error(`${path} must be ${article}${type}, got ${textOf(value)}`);
}
