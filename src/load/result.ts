import type { Fitness } from './fitness.ts';
import type { GateVerdict } from './gates.ts';
import type { GuaranteeVerdict } from './guarantee.ts';
import type { LoadOptions } from './options.ts';
import type { RequestCounts, Tally } from './tally.ts';

interface ThreadResult {
  readonly admitted: number;
  readonly counters: RequestCounts;
  /** Why the thread ended early. What it had not reported by then is missing from all results. */
  readonly crash: string | undefined;
}

/** The result of a run. */
export interface LoadResult {
  readonly options: LoadOptions;
  /** The target's URL; the embedded server's if none was given. */
  readonly url: string;
  readonly startedAt: Date;
  /** Whether it was stopped early. */
  readonly interrupted: boolean;
  /** The requests of the warm-up, which count nowhere else. */
  readonly warmUp: RequestCounts;
  /** From the first slot of the schedule to the end of the last. */
  readonly elapsedMs: number;
  /** Requests that came due within the run. */
  readonly admitted: number;
  /** Requests sent. The others had no free connection until the end. */
  readonly sent: number;
  /** Requests sent per second; 0 for a run of no length. */
  readonly achievedRate: number;
  /** The target rate, averaged over the run if it changed. */
  readonly wantedRate: number;
  /** The lowest and the highest target rate; undefined if it never changed. */
  readonly rateRange: readonly [number, number] | undefined;
  readonly admittedPer100Ms: readonly number[];
  readonly threads: readonly ThreadResult[];
  readonly tally: Tally;
  readonly guarantee: GuaranteeVerdict;
  /** How it did at each gate, those that hold by default included. */
  readonly gates: readonly GateVerdict[];
  /** Whether this client was fit to measure. */
  readonly fitness: Fitness;
}
