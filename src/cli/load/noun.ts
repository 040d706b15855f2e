import type { LoadOptions } from '../../load/options.ts';
import { formatCount } from '../format.ts';

/** What a run counts. */
export type Noun = 'calls' | 'requests';

/** How they end: the latency is from due to answered, or to done. */
export const OUTCOME = { requests: 'answered', calls: 'done' } as const;

/** `calls` for a task, otherwise `requests`. */
export function nounOf({ task }: Pick<LoadOptions, 'task'>): Noun {
  return task === undefined ? 'requests' : 'calls';
}

/** `1 request`, `2,000 calls`. */
export function countOf(count: number, things: string): string {
  return `${formatCount(count)} ${count === 1 ? things.slice(0, -1) : things}`;
}
