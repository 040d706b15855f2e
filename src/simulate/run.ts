import { randomNumbers } from '../load/random.ts';
import type { LimiterSpec } from './limiter-specs.ts';
import type { ArrivalPattern } from './patterns.ts';
import type { SimulateResult } from './result.ts';
import { someSeed } from './seed.ts';
import type { ServerSpec } from './server.ts';
import { type CallerOptions, simulate } from './simulation.ts';
import { TimestampFile } from './timestamp-file.ts';

const DEFAULT_DURATION_MS = 60_000;

/** What to simulate: an arrival pattern, or a file of timestamps. */
export interface SimulateOptions {
  readonly limiters: readonly LimiterSpec[];
  readonly arrivals?: ArrivalPattern;
  /** A path, or `-` for standard input. */
  readonly file?: string;
  /** Whether timestamps of the same whole second are spread over it. */
  readonly spread: boolean;
  /** In milliseconds. Default: a minute, or the whole file. */
  readonly duration?: number;
  /** How long callers wait at most, in milliseconds. Default: not at all. */
  readonly wait?: number;
  /** The server that the calls go to. Default: they take no time. */
  readonly server?: ServerSpec;
  /** Default: random. */
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
  throw new TypeError('give arrivals, or a file with timestamps');
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
  if (simulated.count === 0) throw new Error(`no line of ${path} holds a timestamp that is known`);
  const source = {
    text: path,
    seed: server?.isRandom === true ? seed : undefined,
    file: file.counts,
  };
  const durationMs = duration ?? simulated.lastUs / 1_000;
  return { ...simulated, source, durationMs, waitMs, server: server?.text };
}
