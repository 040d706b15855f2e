import { randomNumbers, someSeed } from '../load/plan/random.ts';
import type { LimiterSpec } from './limiter-specs.ts';
import type { ArrivalPattern } from './patterns.ts';
import type { ServerSpec } from './server.ts';
import { type SimulationResult, simulate } from './simulation.ts';
import { type TimestampCounts, TimestampFile } from './timestamp-file.ts';

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
  /** Called often with the share that is simulated, from 0 to 1, unless it is unknown. */
  readonly onProgress?: (share: number) => void;
}

/** The source of the arrivals. */
interface ArrivalsSource {
  /** The pattern, or the path of the file. */
  readonly text: string;
  /** Undefined if nothing is random. */
  readonly seed: number | undefined;
  /** Undefined for a pattern. */
  readonly file: TimestampCounts | undefined;
}

/** The result of a simulation. */
export interface SimulateResult extends SimulationResult {
  readonly source: ArrivalsSource;
  /** The simulated time; for a file, up to its last arrival. */
  readonly durationMs: number;
  /** Maximum wait of callers; 0 if they do not wait. */
  readonly waitMs: number;
  /** The simulated server; undefined if calls take no time. */
  readonly server: string | undefined;
}

/** @throws Error if the file can't be read or contains no timestamp. */
export async function runSimulation({
  limiters,
  arrivals: pattern,
  file: path,
  spread,
  duration,
  wait: waitMs = 0,
  server,
  seed = someSeed(),
  onProgress,
}: SimulateOptions): Promise<SimulateResult> {
  if (pattern === undefined && path === undefined) throw new TypeError('give arrivals or a file');
  const file = path === undefined ? undefined : TimestampFile.open(path, { spread });
  const lengthMs = pattern === undefined ? Number.POSITIVE_INFINITY : DEFAULT_DURATION_MS;
  const endUs = (duration ?? lengthMs) * 1_000;
  const batches = file?.arrivals(endUs) ?? pattern?.arrivals(endUs, randomNumbers(seed)) ?? [];
  const shareOf = (count: number) =>
    pattern === undefined ? file?.share : Math.min(1, count / pattern.expected(endUs));
  const callers = { waitMs, server: server && (() => server.create(seed)) };
  const simulated = await simulate(batches, limiters, callers, (count) => {
    const share = shareOf(count);
    if (share !== undefined) onProgress?.(share);
  });
  if (file !== undefined && simulated.count === 0) {
    throw new Error(`${path} has no line with a valid timestamp`);
  }
  const isRandom = pattern?.isRandom === true || server?.isRandom === true;
  const source = {
    text: pattern?.text ?? path ?? '',
    seed: isRandom ? seed : undefined,
    file: file?.counts,
  };
  const durationMs =
    duration ?? (pattern === undefined ? simulated.lastUs / 1_000 : DEFAULT_DURATION_MS);
  return { ...simulated, source, durationMs, waitMs, server: server?.text };
}
