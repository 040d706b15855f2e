import type { GuaranteeVerdict } from './guarantee.ts';
import type { LoadOptions } from './options.ts';
import type { RequestCounts, Tally } from './tally.ts';

interface ThreadResult {
  readonly admitted: number;
  readonly counters: RequestCounts;
  /** Why the thread ended early; what it had not reported by then is missing everywhere. */
  readonly crash: string | undefined;
}

/** Everything that a run has found out. */
export interface LoadResult {
  readonly options: LoadOptions;
  /** The url that was used: that of the embedded server if none was given. */
  readonly url: string;
  readonly startedAt: Date;
  /** Whether it was stopped before its time. */
  readonly interrupted: boolean;
  /** From the first slot of the schedule to the end of the last. */
  readonly elapsedMs: number;
  /** Requests that came due: the instants that the limiter named within the run. */
  readonly admitted: number;
  /** Those that were sent. The others found no free connection until the end. */
  readonly sent: number;
  /** Requests sent per second; 0 for a run of no length. */
  readonly achievedRate: number;
  /** The rate that was asked for, on average where it was changed. */
  readonly wantedRate: number;
  /** The lowest and the highest rate that was asked for; undefined if it was never changed. */
  readonly rateRange: readonly [number, number] | undefined;
  readonly admittedPer100Ms: readonly number[];
  readonly threads: readonly ThreadResult[];
  readonly tally: Tally;
  readonly guarantee: GuaranteeVerdict;
}

const EXIT_OK = 0;
/** No request succeeded, a thread crashed, or the command line was wrong. */
export const EXIT_FAILED = 1;
const EXIT_GUARANTEE_BROKEN = 2;
/** 128 + SIGINT, as shells have it. */
export const EXIT_INTERRUPTED = 130;

/** The exit code that a result stands for. */
export function exitCode({ guarantee, tally, threads }: LoadResult): number {
  if (!guarantee.held) return EXIT_GUARANTEE_BROKEN;
  if (tally.counters.succeeded === 0) return EXIT_FAILED;
  return threads.some(({ crash }) => crash !== undefined) ? EXIT_FAILED : EXIT_OK;
}
