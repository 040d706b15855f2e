import type { SimulationResult } from './simulation.ts';
import type { TimestampCounts } from './timestamp-file.ts';

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
