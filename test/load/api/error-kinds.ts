import type { DriveResult } from '../../../src/load.ts';

/** How many errors of each kind there were. */
export function kinds({ errors }: DriveResult): Record<string, number> {
  return Object.fromEntries(errors.map(({ kind, count }) => [kind, count]));
}
