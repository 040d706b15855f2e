import type { Fitness } from './fitness.ts';
import type { GateVerdict } from './gates.ts';
import type { GuaranteeVerdict } from './guarantee.ts';
import type { LoadOptions } from './options.ts';
import type { RequestCounts, Tally } from './tally.ts';

interface ThreadResult {
  readonly admitted: number;
  readonly counters: RequestCounts;
  /** Why the thread ended early. Anything it had not reported is missing from all results. */
  readonly crash: string | undefined;
}

/** The result of a run. */
export interface LoadResult {
  readonly options: LoadOptions;
  /** The URL of the target or of the embedded server. */
  readonly url: string;
  readonly startedAt: Date;
  /** Whether the run was stopped early. */
  readonly interrupted: boolean;
  /** The requests of the warm-up. They count nowhere else. */
  readonly warmUp: RequestCounts;
  /** From the first slot of the schedule to the end of the last. */
  readonly elapsedMs: number;
  /** Requests that came due within the run. */
  readonly admitted: number;
  /** Requests sent. The others found no free connection in time. */
  readonly sent: number;
  /** Requests sent per second; 0 for a run of no length. */
  readonly achievedRate: number;
  /** The target rate; its mean over the run if it changed. */
  readonly wantedRate: number;
  /** The lowest and the highest target rate; undefined if it never changed. */
  readonly rateRange: readonly [number, number] | undefined;
  readonly admittedPer100Ms: readonly number[];
  readonly threads: readonly ThreadResult[];
  readonly tally: Tally;
  readonly guarantee: GuaranteeVerdict;
  /** The verdicts of all gates, including the default ones. */
  readonly gates: readonly GateVerdict[];
  /** Whether this client was fit to measure. */
  readonly fitness: Fitness;
}
