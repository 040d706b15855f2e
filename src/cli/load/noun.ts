import type { LoadOptions } from '../../load/options.ts';

/** What a run counts. */
export type Noun = 'calls' | 'requests';

/** `calls` for a task, otherwise `requests`. */
export function nounOf({ task }: Pick<LoadOptions, 'task'>): Noun {
  return task === undefined ? 'requests' : 'calls';
}
