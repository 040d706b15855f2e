// One definition of each option of a load: its field in the options and the result of `drive`, its
// flag and line of help in the command, and what both accept.

import { DEFAULT_MAX_ERRORS, DEFAULT_MIN_RATE } from '../judge/gates.ts';
import { MAX_SEED } from './random.ts';

/** A number that an option accepts. */
export interface NumberRange {
  readonly min: number;
  readonly max: number;
  readonly integer?: true;
  /** Whether 0 means none, although it is below `min`. */
  readonly orNone?: true;
  /** Whether Infinity is accepted, in the command `max`. */
  readonly orInfinity?: true;
  /** For error messages. */
  readonly example?: number;
}

/** What an option has to do with the rest of a run. */
type Need =
  /** Calls that come due at a rate. */
  | 'rate'
  /** Calls as fast as possible. */
  | 'max'
  /** Requests to a server. */
  | 'requests'
  /** Calls of a module. */
  | 'task'
  /** An https URL. */
  | 'https';

/** How the command reads a value. */
export type Reading =
  | { readonly as: 'rate' | 'count' | 'duration'; readonly range: NumberRange }
  | { readonly as: 'flag' | 'latency' | 'share' | 'ramp' | 'arrivals' }
  | { readonly as: 'text' | 'header' | 'body' | 'data' | 'redis' | 'redisKey' }
  | { readonly as: 'socket' | 'pem' | 'output' | 'outputOrStdout' };

/** The definition of an option. */
export interface OptionDefinition {
  /** The flags of the command. */
  readonly flags: string;
  readonly help: string;
  readonly value: Reading;
  /** The default, and how the help writes it. */
  readonly usual?: number | string;
  readonly usualText?: string;
  readonly needs?: Need;
  /** Kinds of arrivals whose instants make the option meaningless. */
  readonly fixedBy?: readonly ('poisson' | 'listed')[];
  /** Fields of options that cannot be combined with this one in the command. */
  readonly conflicts?: readonly string[];
}

/** More than one slot per microsecond would exceed the clock's resolution. */
export const RATES: NumberRange = { min: 1e-3, max: 1e6 };
/** The length of a run, or of a change of its rate. */
export const DURATIONS: NumberRange = { min: 1, max: 86_400_000 };
/** The seeds of random numbers. */
export const SEEDS: NumberRange = { min: 0, max: MAX_SEED, integer: true };
const FIXED = ['poisson', 'listed'] as const;
const PEM = { as: 'pem' } as const;

function count(max: number, example: number) {
  return { as: 'count', range: { min: 1, max, integer: true, example } } as const;
}

/** The options of the command by group of its help, each under its field in `drive`. */
export const OPTION_GROUPS = {
  Load: {
    rate: {
      flags: '-r, --rate <number>',
      help: 'requests per second over all threads; max calls a module as fast as it can',
      value: { as: 'rate', range: { ...RATES, orInfinity: true } },
      usual: 2_000,
      fixedBy: ['listed'],
    },
    ramp: {
      flags: '--ramp <from:to:time>',
      help: 'move from one rate to another, such as 500:5000:10s',
      value: { as: 'ramp' },
      fixedBy: ['listed'],
      conflicts: ['rate'],
    },
    durationMs: {
      flags: '-d, --duration <time>',
      help: 'length of the run',
      value: { as: 'duration', range: DURATIONS },
      usual: 10_000,
      usualText: '10s',
    },
    threads: {
      flags: '-t, --threads <number>',
      help:
        'number of threads (default: for a URL one per 15000/s, up to 4 and at most one per processor; ' +
        'otherwise 4; divided among --processes)',
      value: count(256, 4),
    },
    processes: {
      flags: '--processes <number>',
      help: 'number of processes to start, with --threads each (default: none)',
      value: count(64, 2),
      needs: 'requests',
      conflicts: ['redis'],
    },
    burst: {
      flags: '-b, --burst <number>',
      help: 'maximum requests sent at once to catch up after a stall of this client',
      value: count(1e6, 1),
      usual: 1,
      needs: 'rate',
      fixedBy: FIXED,
      conflicts: ['ramp'],
    },
    warmupMs: {
      flags: '--warmup <time>',
      help: 'length of a warm-up at the initial rate, which does not count',
      value: { as: 'duration', range: { ...DURATIONS, orNone: true } },
      usual: 0,
      usualText: 'none; with --rate max, 500ms',
      fixedBy: ['listed'],
    },
    timeoutMs: {
      flags: '--timeout <time>',
      help: 'timeout of each request or call, from its start',
      value: { as: 'duration', range: DURATIONS },
      usual: 5_000,
      usualText: '5s',
    },
    arrivals: {
      flags: '--arrivals <kind>',
      help: 'when requests are due: even, poisson, or a file with one instant per line',
      value: { as: 'arrivals' },
      usual: 'even',
      needs: 'rate',
    },
    seed: {
      flags: '--seed <number>',
      help: 'seed of --arrivals poisson, to repeat a run (default: random)',
      value: { as: 'count', range: SEEDS },
      needs: 'rate',
    },
  },
  Requests: {
    method: {
      flags: '-m, --method <name>',
      help: 'HTTP method (default: GET, or POST with --body)',
      value: { as: 'text' },
      needs: 'requests',
    },
    headers: {
      flags: '-H, --header <name: value>',
      help: 'header to send; repeatable',
      value: { as: 'header' },
      needs: 'requests',
    },
    body: {
      flags: '--body <text>',
      help: 'body to send; @file reads a file, @- standard input',
      value: { as: 'body' },
      needs: 'requests',
    },
    connections: {
      flags: '-c, --connections <number>',
      help: 'maximum connections over all threads (default: 64, or one per thread)',
      value: count(65_536, 64),
      needs: 'requests',
    },
    socketPath: {
      flags: '--unix <path>',
      help: 'Unix domain socket to connect to instead of host and port',
      value: { as: 'socket' },
      needs: 'requests',
    },
    http2: {
      flags: '--http2',
      help: 'use HTTP/2; --connections then counts sessions (default: one per thread)',
      value: { as: 'flag' },
      needs: 'requests',
    },
    insecure: {
      flags: '--insecure',
      help: 'accept any server certificate',
      value: { as: 'flag' },
      needs: 'https',
    },
    cert: {
      flags: '--cert <file>',
      help: 'client certificate, in PEM; needs --key',
      value: PEM,
      needs: 'https',
    },
    key: {
      flags: '--key <file>',
      help: 'private key of --cert, in PEM',
      value: PEM,
      needs: 'https',
    },
    ca: {
      flags: '--ca <file>',
      help: 'certificate authorities to trust instead of the default, in PEM',
      value: PEM,
      needs: 'https',
    },
    servername: {
      flags: '--servername <name>',
      help: 'server name for the TLS handshake (default: the host in the Host header)',
      value: { as: 'text' },
      needs: 'https',
    },
  },
  'Calls of a module': {
    concurrency: {
      flags: '--concurrency <number>',
      help: 'maximum calls of a module in flight per thread (default: 1000, or 1 with --rate max)',
      value: count(1e6, 1_000),
      needs: 'task',
    },
    data: {
      flags: '--data <json>',
      help: 'JSON for the setup function of a module; @file reads a file',
      value: { as: 'data' },
      needs: 'task',
    },
    rounds: {
      flags: '--rounds <number>',
      help: 'rounds that --rate max divides the duration into (default: 5)',
      value: count(1_000, 5),
      needs: 'max',
    },
  },
  'A rate for several machines': {
    redis: {
      flags: '--redis <url>',
      help: 'share the rate with all processes that use this Redis server and key',
      value: { as: 'redis' },
      needs: 'rate',
      fixedBy: FIXED,
      conflicts: ['ramp'],
    },
    redisKey: {
      flags: '--redis-key <name>',
      help: "key of the limit on the Redis server (default: derived from the target's origin)",
      value: { as: 'redisKey' },
      needs: 'rate',
    },
  },
  Gates: {
    maxP99: {
      flags: '--max-p99 <time>',
      help: 'gate: maximum latency at p99; likewise --max-p50, --max-p99.9 or any percentile',
      value: { as: 'latency' },
    },
    maxErrors: {
      flags: '--max-errors <share>',
      help: `gate: maximum share of failed requests (default: ${100 * DEFAULT_MAX_ERRORS}%)`,
      value: { as: 'share' },
    },
    minRate: {
      flags: '--min-rate <share>',
      help: `gate: minimum share of the rate that is sent (default: ${100 * DEFAULT_MIN_RATE}%)`,
      value: { as: 'share' },
      needs: 'rate',
      conflicts: ['redis'],
    },
  },
  Results: {
    json: {
      flags: '--json <file>',
      help: 'write the full result as JSON to this file, or - for standard output',
      value: { as: 'outputOrStdout' },
    },
    hgrm: {
      flags: '--hgrm <file>',
      help: "write the latencies in HdrHistogram's percentile format",
      value: { as: 'output' },
    },
    report: {
      flags: '--report <file>',
      help: 'write a self-contained HTML page with charts',
      value: { as: 'output' },
    },
  },
} as const satisfies Readonly<Record<string, Readonly<Record<string, OptionDefinition>>>>;

/** All options by field. */
export const LOAD_OPTIONS: ReadonlyMap<string, OptionDefinition> = new Map(
  Object.values(OPTION_GROUPS).flatMap((group) => Object.entries<OptionDefinition>(group)),
);

/** Whether an option accepts this number. */
export function isWithin({ min, max, orNone, orInfinity }: NumberRange, value: number): boolean {
  if (orInfinity && value === Number.POSITIVE_INFINITY) return true;
  return (orNone === true && value === 0) || (value >= min && value <= max);
}

/** The values of options by field. */
type Values = Readonly<Record<string, unknown>>;

/** How errors name options, and what a run lacks. */
export interface Wording {
  nameOf(field: string): string;
  readonly lacks: Readonly<Record<Need, string | ((field: string) => string)>>;
  arrivals(kind: string): string;
}

/** What a run has that options need. */
export interface RunKind {
  readonly isMax: boolean;
  readonly isTask: boolean;
  readonly isHttps: boolean;
}

/** Why an option that is given cannot be used in such a run; undefined if all can. */
export function misuse(
  given: object,
  { isMax, isTask, isHttps }: RunKind,
  arrivals: string | undefined,
  { nameOf, lacks, arrivals: kindOf }: Wording,
): string | undefined {
  const has = { rate: !isMax, max: isMax, requests: !isTask, task: isTask, https: isHttps };
  for (const [field, { value: reading, needs, fixedBy = [] }] of LOAD_OPTIONS) {
    const value = (given as Values)[field];
    // A warm-up of 0 is none.
    const isNone = value === 0 && 'range' in reading && reading.range.orNone === true;
    if (value === undefined || isNone) continue;
    if (needs !== undefined && !has[needs]) {
      const lack = lacks[needs];
      return `${nameOf(field)} ${typeof lack === 'string' ? lack : lack(field)}`;
    }
    const fixed = fixedBy.find((kind) => kind === arrivals);
    if (fixed === undefined) continue;
    return `${nameOf(field)} cannot be used with ${kindOf(fixed)}: instants are fixed`;
  }
  return undefined;
}
