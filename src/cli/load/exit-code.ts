import type { LoadResult } from '../../load/result.ts';

const EXIT_OK = 0;
/** All requests failed, a thread crashed, or the command line was invalid. */
export const EXIT_FAILED = 1;
const EXIT_GUARANTEE_BROKEN = 2;
/** 128 + SIGINT, as in shells. */
export const EXIT_INTERRUPTED = 130;

/** The exit code for a result. */
export function exitCode({ guarantee, tally, threads }: LoadResult): number {
  if (!guarantee.held) return EXIT_GUARANTEE_BROKEN;
  if (tally.counters.succeeded === 0) return EXIT_FAILED;
  return threads.some(({ crash }) => crash !== undefined) ? EXIT_FAILED : EXIT_OK;
}
