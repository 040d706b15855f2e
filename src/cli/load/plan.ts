import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import type { Command } from 'commander';
import { checkDriveOptions } from '../../load/api/check-options.ts';
import type { DriveOptions } from '../../load/plan/drive-options.ts';
import { LOAD_OPTIONS, misuse, type Wording } from '../../load/plan/option-table.ts';
import type { FleetOptions, LoadOptions } from '../../load/plan/options.ts';
import { safeText } from '../../load/plan/redact.ts';
import { listedTerms } from '../../load/plan/timetable.ts';
import { TimestampFile } from '../../simulate/timestamps.ts';
import { countOf } from '../format.ts';
import type { BodyOption } from '../values.ts';
import { type Given, gatesOf } from './options.ts';

/** A rate, per second, that one thread sends with time to spare. */
const RATE_BY_THREAD = 15_000;
/** Default number of threads, except for requests to a URL. */
const DEFAULT_THREADS = 4;

/** The input that a run reads before it starts. */
export interface RunInput {
  readonly body: Uint8Array | undefined;
  /** The instants of `--arrivals FILE`. */
  readonly instantsUs: Float64Array | undefined;
}

/**
 * Records the files that options name, since the parsed options have only their contents. Call
 * before parsing.
 *
 * @returns the paths, with that of the target if it is a module
 */
export function inputFilesOf(command: Command): (target: string | undefined) => string[] {
  const paths: string[] = [];
  for (const field of ['arrivals', 'ca', 'cert', 'key', 'body', 'data']) {
    const isText = field === 'body' || field === 'data';
    command.on(`option:${flagOf(field)}`, (text: string) => {
      if (!isText) paths.push(text);
      else if (text.startsWith('@')) paths.push(text.slice(1));
    });
  }
  return (target) => (isModule(target) ? [...paths, fileURLToPath(target)] : paths);
}

/** How the errors of the command name options. */
function wordingOf(url: string | undefined): Wording {
  return {
    nameOf: (field) => `--${flagOf(field)}`,
    lacks: {
      rate: 'needs a rate per second, got --rate max',
      max: 'needs --rate max',
      requests: 'cannot be used with a module',
      https: `needs an https URL; got ${url ?? 'none'}`,
      task: (field) =>
        `needs a module; for requests, use --${field === 'data' ? 'body' : 'connections'}`,
    },
    arrivals: (kind) => `--arrivals ${kind === 'listed' ? 'FILE' : kind}`,
  };
}

/** Ends the command with an error if options contradict the target or each other. */
export function checkGiven(url: string | undefined, given: Given, command: Command): void {
  const kind = typeof given.arrivals === 'object' ? 'listed' : given.arrivals;
  const run = {
    isMax: given.rate === Number.POSITIVE_INFINITY,
    isTask: isModule(url),
    isHttps: url?.startsWith('https:') === true,
  };
  const wrong =
    misuse(onlyGiven(given, command), run, kind, wordingOf(url)) ??
    contradictionOf(url, given, kind);
  if (wrong !== undefined) command.error(`error: ${wrong}`);
}

/** What only the command can contradict. */
function contradictionOf(
  url: string | undefined,
  given: Given,
  kind: 'even' | 'poisson' | 'listed',
): string | undefined {
  const { rate, seed, processes, redis, redisKey, socketPath } = given;
  if (rate === Number.POSITIVE_INFINITY && !isModule(url)) {
    return '--rate max needs a module; a server needs a rate per second';
  }
  if (seed !== undefined && kind !== 'poisson') {
    return '--seed needs --arrivals poisson: nothing else is random';
  }
  if (processes !== undefined && kind !== 'even') {
    return '--processes needs --arrivals even: processes share a token bucket';
  }
  if (given.body === '@-' && isStdin(given.arrivals)) {
    return '--arrivals - cannot be used with --body @-: both read standard input';
  }
  if (redis !== undefined && url === undefined) {
    return '--redis needs a target URL, the same for all processes';
  }
  if (redis !== undefined && redisKey === undefined && isModule(url)) {
    return 'with a module, --redis needs --redis-key';
  }
  if (redisKey !== undefined && redis === undefined) return '--redis-key needs --redis';
  if (socketPath !== undefined && url === undefined) {
    return '--unix needs a target URL, for the path and the Host header';
  }
  return undefined;
}

/**
 * Reads the input of a run. Meanwhile an interrupt ends the command at once, like any command that
 * reads.
 */
export async function readInput(given: Given, command: Command): Promise<RunInput> {
  const { body, arrivals } = given;
  const endUs = (onlyGiven(given, command).durationMs ?? Number.POSITIVE_INFINITY) * 1_000;
  return {
    body: await bodyOf(body, process.stdin),
    instantsUs:
      typeof arrivals === 'string'
        ? undefined
        : await readInstants(arrivals.path, endUs).catch((error: Error) =>
            command.error(`error: ${error.message}`),
          ),
  };
}

/** Resolves the body option to the body. */
export async function bodyOf(
  option: BodyOption | undefined,
  stdin: AsyncIterable<Uint8Array>,
): Promise<Uint8Array | undefined> {
  if (option !== '@-') return option;
  const chunks: Uint8Array[] = [];
  for await (const chunk of stdin) chunks.push(chunk);
  return Buffer.concat(chunks);
}

/** Reads a list of instants. Throws unless all of it can be sent. */
async function readInstants(path: string, endUs: number): Promise<Float64Array> {
  const file = TimestampFile.open(path, { spread: true });
  const instants: number[] = [];
  for await (const batch of file.arrivals(endUs)) {
    for (const atUs of batch) instants.push(atUs);
  }
  const { unreadable, firstUnreadable, late } = file.counts;
  // Don't skip requests: the schedule must be sent as given.
  if (unreadable > 0) {
    throw new Error(
      `${countOf(unreadable, 'lines')} of ${path} ${unreadable === 1 ? 'has' : 'have'} no valid ` +
        `instant, first ${firstUnreadable}`,
    );
  }
  if (instants.length === 0) throw new Error(`${path} has no line with a valid instant`);
  if (late > 0) {
    const text = `${countOf(late, 'lines')} of ${path} out of order, moved to the latest instant before`;
    process.stderr.write(`${safeText(text)}\n`);
  }
  return Float64Array.from(instants);
}

/** Stands for the URL of the embedded server, which is known once it listens. */
const EMBEDDED = 'http://localhost/';

/** The options of a run. Ends the command if one of them cannot be used. */
export function planOf(
  url: string | undefined,
  given: Given,
  { body, instantsUs }: RunInput,
  command: Command,
): LoadOptions {
  const own = onlyGiven(given, command);
  const { arrivals, ramp, processes } = given;
  const listed =
    typeof arrivals === 'object' && instantsUs !== undefined
      ? listedTerms(arrivals.path, instantsUs, own.durationMs)
      : undefined;
  const { rate } = listed ?? given;
  const isTask = isModule(url);
  const highest = Math.max(ramp?.to ?? rate, ramp?.from ?? 0);
  const isRequests = url !== undefined && !isTask;
  const usual = isRequests ? threadsFor(highest) : DEFAULT_THREADS;
  const kind = arrivals === 'poisson' ? { kind: 'poisson', ...pick(own, 'seed') } : undefined;
  try {
    const checked = checkDriveOptions(
      {
        ...pick(own, 'burst', 'durationMs', 'timeoutMs', 'warmupMs', 'rounds'),
        ...(isTask
          ? { task: url, ...pick(own, 'data', 'concurrency') }
          : { target: targetOf(url, own, body) }),
        // The mean rate of listed instants need not be one that --rate accepts.
        ...(ramp === undefined ? { rate: listed === undefined ? rate : 1 } : { ramp }),
        ...(kind && { arrivals: kind }),
        threads: given.threads ?? threadsOfEach(processes, usual),
        gates: gatesOf({ ...given }),
      } as DriveOptions,
      processes,
    );
    return {
      ...checked,
      ...listed,
      url: isTask ? undefined : url,
      // Unlike those of `drive`, they may repeat a name.
      headers: given.headers ?? [],
      processes,
      fleet: fleetOf(url, given),
    };
  } catch (error) {
    return command.error(`error: ${inFlags((error as Error).message)}`);
  }
}

function targetOf(url: string | undefined, own: Partial<Given>, body: Uint8Array | undefined) {
  const tls = pick(own, 'insecure', 'cert', 'key', 'ca', 'servername');
  return {
    url: url ?? EMBEDDED,
    ...pick(own, 'method', 'connections', 'http2', 'socketPath'),
    ...(body && { body }),
    ...(Object.keys(tls).length > 0 && { tls }),
  };
}

/** The fields of these names that are there. */
function pick<Name extends keyof Given>(from: Partial<Given>, ...names: Name[]): object {
  return Object.fromEntries(names.filter((name) => name in from).map((name) => [name, from[name]]));
}

/** An error of `drive` in terms of the command. */
function inFlags(message: string): string {
  return message.replaceAll(/\btarget\.(?:tls\.)?(\w+)/g, (_, field) => `--${flagOf(field)}`);
}

/** The limit that processes share, if `--redis` is given. */
function fleetOf(url = '', { redis, redisKey, rate, burst }: Given): FleetOptions | undefined {
  if (redis === undefined) return undefined;
  return { url: redis, key: redisKey ?? `zerotime-load:${new URL(url).origin}`, rate, burst };
}

/** As few as can keep up: the target may need the processors. */
function threadsFor(rate: number): number {
  return Math.min(Math.ceil(rate / RATE_BY_THREAD), DEFAULT_THREADS, availableParallelism());
}

/** The threads of each process if all together have about this many, and at most one per processor. */
function threadsOfEach(processes: number | undefined, threads: number): number {
  if (processes === undefined) return threads;
  const most = Math.floor(availableParallelism() / processes);
  return Math.max(1, Math.min(Math.ceil(threads / processes), most));
}

function isModule(url: string | undefined): url is string {
  return url?.startsWith('file:') === true;
}

function isStdin(arrivals: Given['arrivals']): boolean {
  return typeof arrivals === 'object' && arrivals.path === '-';
}

/** The options without defaults. */
function onlyGiven(given: Given, command: Command): Partial<Given> {
  const isDefault = (field: string) => command.getOptionValueSource(field) === 'default';
  return Object.fromEntries(Object.entries(given).filter(([field]) => !isDefault(field)));
}

/** The long name of an option, without dashes. */
function flagOf(field: string): string {
  return /--([\w-]+)/.exec(LOAD_OPTIONS.get(field)?.flags ?? '')?.[1] ?? field;
}
