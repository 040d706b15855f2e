import type { LoadOptions } from '../../load/options.ts';

/** What a run counts. */
export type Noun = 'calls' | 'requests';

/** How they end: the latency is from due to answered, or to done. */
export const OUTCOME = { requests: 'answered', calls: 'done' } as const;

/** `calls` for a task, otherwise `requests`. */
export function nounOf({ task }: Pick<LoadOptions, 'task'>): Noun {
  return task === undefined ? 'requests' : 'calls';
}
