import { decodeFromCompressedBase64, type Histogram } from 'hdr-histogram-js';
import type { RunFigures } from '../../load/judge/comparison.ts';
import type { DriveResult } from '../../load/judge/drive-result.ts';
import { safeText } from '../../load/plan/redact.ts';
import type { Noun } from '../format.ts';
import { limitText } from '../load/verdict.ts';
import { readJson, STANDARD } from '../values.ts';

/** The compared parts of a `--json` file. */
export interface RecordedRun extends RunFigures, Pick<DriveResult, 'latencyByTime'> {
  readonly path: string;
  /** What it counts. */
  readonly noun: Noun;
  /** Target and options. They must be equal for runs to be comparable. */
  readonly conditions: ReadonlyMap<string, string>;
  /** Versions and machine. Differences are reported, not refused. */
  readonly circumstances: ReadonlyMap<string, string>;
  /** Reasons not to trust its figures. */
  readonly doubts: readonly string[];
}

/**
 * @param path a file, or `-` for standard input
 * @param input the text of standard input
 * @throws Error that names the file, if it is not a load result
 */
export function readRun(path: string, input = ''): RecordedRun {
  let data: unknown;
  try {
    data = path === STANDARD ? JSON.parse(input) : readJson(path);
  } catch (error) {
    throw new Error(`${path} cannot be read as JSON: ${(error as Error).message}`);
  }
  try {
    checkShape('run', data, RESULT);
    return recordedRun(path, data as DriveResult); // as checked
  } catch (error) {
    throw new Error(`${path} is not a result of zerotime load --json: ${(error as Error).message}`);
  }
}

/** What a value must be. A list has the shape of its elements; with `?`, the value may be missing. */
type Shape = 'number' | 'number?' | 'text' | readonly [Shape] | { readonly [name: string]: Shape };

/** The parts of a result that are read here. An older version may lack the others. */
const RESULT: Shape = {
  options: { durationMs: 'number' },
  calls: { sent: 'number', succeeded: 'number', failed: 'number' },
  elapsedMs: 'number',
  admittedPer100Ms: ['number'],
  times: { latency: { hdrHistogram: 'text' } },
  url: 'text',
  'latencyByTime?': [
    {
      ...{ startsAfterMs: 'number', endsAfterMs: 'number' },
      ...{ p99Ms: 'number?', maxMs: 'number?' },
    },
  ],
  'latencyDesignEffects?': {
    ...{ p50: 'number', p90: 'number', p99: 'number', 'p99.9': 'number' },
  },
  'fitness?': { limits: [{ kind: 'text' }] },
  'closed?': { rounds: [{ callsPerSecond: 'number' }] },
};

/** @throws Error that names the part without this shape */
function checkShape(path: string, value: unknown, shape: Shape): void {
  const must = (isRight: boolean, what: string) => {
    if (!isRight) throw new Error(`${path} must be ${what}, got ${textOf(value)}`);
  };
  if (shape === 'text') must(typeof value === 'string', 'text');
  else if (typeof shape === 'string') {
    const isNone = shape === 'number?' && value == null;
    must(isNone || (typeof value === 'number' && value >= 0), 'a number at least 0');
  } else if (Array.isArray(shape)) {
    must(Array.isArray(value), 'a list');
    for (const [at, one] of (value as unknown[]).entries()) {
      checkShape(`${path}.${at}`, one, shape[0]);
    }
  } else {
    must(isObject(value), 'an object');
    for (const [key, part] of Object.entries(shape)) {
      const name = key.replace('?', '');
      const own = (value as Data)[name];
      if (name !== key && own == null) continue;
      checkShape(path === 'run' ? name : `${path}.${name}`, own, part);
    }
  }
}

type Data = Readonly<Record<string, unknown>>;

function recordedRun(path: string, run: DriveResult): RecordedRun {
  const { request, ...options } = run.options;
  const noun = request ? 'requests' : 'calls';
  return {
    ...run,
    path,
    noun,
    latency: histogramIn(run),
    latencyByTime: run.latencyByTime ?? [],
    conditions: conditionsOf({
      url: run.embeddedServer ? 'the embedded server' : safeText(run.url),
      arrivals: run.arrivals,
      processes: run.processes,
      ...options,
      ...request,
    }),
    circumstances: circumstancesOf(run),
    doubts: doubtsOf(run, noun),
  };
}

function histogramIn({ times }: DriveResult): Histogram {
  try {
    return decodeFromCompressedBase64(times.latency.hdrHistogram);
  } catch (error) {
    const reason = (error as Error).message;
    throw new Error(`times.latency.hdrHistogram must be an HdrHistogram in base64: ${reason}`);
  }
}

/** See `safeHeaders`. */
const HASHES = /\bhash:[0-9a-f]{8}\b/g;
/** Units to strip from names: `ratePerSecond` becomes `rate`. */
const UNIT = /(PerSecond|Ms|Bytes)$/;

/** The hashes of secret headers are hidden: a token that was renewed is no other load. */
function conditionsOf(terms: Data): ReadonlyMap<string, string> {
  return new Map(
    Object.entries(terms)
      .filter(([, value]) => value != null)
      .map(([name, value]) => [
        name.replace(UNIT, ''),
        conditionText(value).replaceAll(HASHES, '***'),
      ]),
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

function circumstancesOf(run: DriveResult): ReadonlyMap<string, string> {
  const { zerotime, node, machine, options } = run;
  const facts = {
    'Node.js': node,
    'secret headers': (textOf(options).match(HASHES) ?? []).join(' ') || undefined,
    zerotime,
    machine: isObject(machine) ? Object.values(machine).map(textOf).join(', ') : undefined,
  };
  return new Map(
    Object.entries(facts)
      .filter(([, value]) => value !== undefined)
      .map(([name, value]) => [name, textOf(value)]),
  );
}

function doubtsOf(run: DriveResult, noun: Noun): string[] {
  const { fitness, guarantee, interrupted, elapsedMs } = run;
  const { durationMs } = run.options;
  // Allow for threads that learn of the end slightly late.
  const isShort = elapsedMs < 0.99 * durationMs;
  // `limitText` has no text for the limits of another version.
  const texts = (fitness?.limits ?? []).map((limit) => limitText(limit, noun) ?? `${limit.kind}`);
  return [
    ...(guarantee?.held === false ? ['the guarantee was broken'] : []),
    ...(isShort ? [`ended after ${Math.round(elapsedMs)} ms of ${durationMs}`] : []),
    ...(!isShort && interrupted ? ['ended early'] : []),
    ...(texts.length === 0 ? [] : [`not fit to measure: ${texts.join('; ')}`]),
    ...(run.closed == null && run.latencyDesignEffects == null
      ? [`older version: its ${noun} are taken for independent`]
      : []),
  ];
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

function isObject(value: unknown): value is Data {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
