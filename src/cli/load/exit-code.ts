import type { LoadResult } from '../../load/result.ts';

/** The exit codes, for the help. */
export const EXIT_CODES = `Exit codes:
  0    all is well
  1    no request or call succeeded, a thread crashed, the command line is invalid, or a file or standard
       output could not be written
  2    the limiter admitted more requests than it guarantees
  3    a gate failed: more than --max-pN or --max-errors, or less than --min-rate
  130  interrupted before the first request, or twice
`;

const EXIT_OK = 0;
/** All requests failed, a thread crashed, the command line was invalid, or output was lost. */
export const EXIT_FAILED = 1;
const EXIT_GUARANTEE_BROKEN = 2;
const EXIT_GATE_FAILED = 3;
/** 128 + the number of SIGINT, as in shells. */
export const EXIT_INTERRUPTED = 130;

/** The exit code for a result. */
export function exitCode({ guarantee, tally, threads, gates }: LoadResult): number {
  if (!guarantee.held) return EXIT_GUARANTEE_BROKEN;
  const hasCrash = threads.some(({ crash }) => crash !== undefined);
  return verdictCode({ succeeded: tally.counters.succeeded, hasCrash, gates });
}

/** The exit code for a result without a guarantee. */
export function verdictCode({
  succeeded,
  hasCrash,
  gates,
}: {
  readonly succeeded: number;
  readonly hasCrash: boolean;
  readonly gates: readonly { readonly passed: boolean }[];
}): number {
  if (succeeded === 0 || hasCrash) return EXIT_FAILED;
  return gates.some(({ passed }) => !passed) ? EXIT_GATE_FAILED : EXIT_OK;
}
