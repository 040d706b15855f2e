import { randomInt } from 'node:crypto';

export const MAX_SEED = 2 ** 32 - 1;

/** A random seed for runs without one. Results state it, so that a run can be repeated. */
export function someSeed(): number {
  return randomInt(MAX_SEED + 1);
}
