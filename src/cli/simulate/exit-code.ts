import type { SimulateResult } from '../../simulate/result.ts';

const EXIT_OK = 0;
export const EXIT_FAILED = 1;
const EXIT_BOUND_BROKEN = 2;

/** The exit code for a result. */
export function exitCode({ limiters }: SimulateResult): number {
  const held = limiters.every(({ outcomes }) => outcomes.bounds.every((bound) => bound.held));
  return held ? EXIT_OK : EXIT_BOUND_BROKEN;
}
