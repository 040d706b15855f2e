import { randomNumbers } from '../load/random.ts';
import { someSeed } from '../load/seed.ts';
import type { LimiterSpec } from './limiter-specs.ts';
import type { ArrivalPattern } from './patterns.ts';
import type { SimulateResult } from './result.ts';
import type { ServerSpec } from './server.ts';
import { type CallerOptions, simulate } from './simulation.ts';
import { TimestampFile } from './timestamp-file.ts';

const DEFAULT_DURATION_MS = 60_000;

/** Options of a simulation. Give `arrivals` or `file`. */
export interface SimulateOptions {
  readonly limiters: readonly LimiterSpec[];
  readonly arrivals?: ArrivalPattern;
  /** Path of a file with timestamps, or `-` for standard input. */
  readonly file?: string;
  /** Whether to spread timestamps of the same whole second over it. */
  readonly spread: boolean;
  /** Simulated time in milliseconds. Default: a minute, or the whole file. */
  readonly duration?: number;
  /** Maximum wait of callers in milliseconds. Default: 0. */
  readonly wait?: number;
  /** The simulated server. Default: calls take no time. */
  readonly server?: ServerSpec;
  /** Seed of random arrivals and service times. Default: random. */
  readonly seed?: number;
}

function callersOf(waitMs: number, server: ServerSpec | undefined, seed: number): CallerOptions {
  return { waitMs, server: server && (() => server.create(seed)) };
}

/** @throws Error if the file can't be read or contains no timestamp. */
export function runSimulation(options: SimulateOptions): Promise<SimulateResult> {
  const { arrivals, file } = options;
  if (arrivals !== undefined) return simulatePattern(arrivals, options);
  if (file !== undefined) return simulateFile(file, options);
  throw new TypeError('give arrivals or a file');
}

async function simulatePattern(
  pattern: ArrivalPattern,
  {
    limiters,
    duration: durationMs = DEFAULT_DURATION_MS,
    wait: waitMs = 0,
    ...rest
  }: SimulateOptions,
): Promise<SimulateResult> {
  const seed = rest.seed ?? someSeed();
  const batches = pattern.arrivals(durationMs * 1_000, randomNumbers(seed));
  const { server } = rest;
  const simulated = await simulate(batches, limiters, callersOf(waitMs, server, seed));
  const isRandom = pattern.isRandom || server?.isRandom === true;
  const source = {
    text: pattern.text,
    seed: isRandom ? seed : undefined,
    file: undefined,
  };
  return { ...simulated, source, durationMs, waitMs, server: server?.text };
}

async function simulateFile(
  path: string,
  { limiters, duration, wait: waitMs = 0, spread, server, ...rest }: SimulateOptions,
): Promise<SimulateResult> {
  const file = TimestampFile.open(path, { spread });
  const endUs = (duration ?? Number.POSITIVE_INFINITY) * 1_000;
  const seed = rest.seed ?? someSeed();
  const simulated = await simulate(file.arrivals(endUs), limiters, callersOf(waitMs, server, seed));
  if (simulated.count === 0) throw new Error(`${path} has no line with a valid timestamp`);
  const source = {
    text: path,
    seed: server?.isRandom === true ? seed : undefined,
    file: file.counts,
  };
  const durationMs = duration ?? simulated.lastUs / 1_000;
  return { ...simulated, source, durationMs, waitMs, server: server?.text };
}
