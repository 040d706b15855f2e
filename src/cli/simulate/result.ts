import type { SimulationResult } from './simulation.ts';
import type { TimestampCounts } from './timestamp-file.ts';

/** Where the arrivals came from. */
interface ArrivalsSource {
  /** The pattern, or the path of the file. */
  readonly text: string;
  /** Undefined where nothing was random. */
  readonly seed: number | undefined;
  /** Undefined for a pattern. */
  readonly file: TimestampCounts | undefined;
}

/** Everything that a simulation has found out. */
export interface SimulateResult extends SimulationResult {
  readonly source: ArrivalsSource;
  /** The time simulated: of a file, up to its last arrival. */
  readonly durationMs: number;
  /** How long callers waited at most; 0 for not at all. */
  readonly waitMs: number;
}

const EXIT_OK = 0;
export const EXIT_FAILED = 1;
const EXIT_BOUND_BROKEN = 2;

/** The exit code that a result stands for. */
export function exitCode({ limiters }: SimulateResult): number {
  const held = limiters.every(({ outcomes }) => outcomes.bounds.every((bound) => bound.held));
  return held ? EXIT_OK : EXIT_BOUND_BROKEN;
}
