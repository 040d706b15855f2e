import type { SimulationResult } from './simulation.ts';
import type { TimestampCounts } from './timestamp-file.ts';

/** The origin of the arrivals. */
interface ArrivalsSource {
  /** The pattern, or the path of the file. */
  readonly text: string;
  /** Undefined if nothing was random. */
  readonly seed: number | undefined;
  /** Undefined for a pattern. */
  readonly file: TimestampCounts | undefined;
}

/** The result of a simulation. */
export interface SimulateResult extends SimulationResult {
  readonly source: ArrivalsSource;
  /** The simulated time; for a file, up to its last arrival. */
  readonly durationMs: number;
  /** How long callers waited at most; 0 means not at all. */
  readonly waitMs: number;
  /** The server that the calls went to; undefined if they took no time. */
  readonly server: string | undefined;
}
