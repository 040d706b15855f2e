import type { LoadOptions } from '../../load/options.ts';

/** What a load makes. */
export type Noun = 'calls' | 'requests';

/** Calls of a task, or requests. */
export function nounOf({ task }: Pick<LoadOptions, 'task'>): Noun {
  return task === undefined ? 'requests' : 'calls';
}
