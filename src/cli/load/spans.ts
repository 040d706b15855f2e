import type { LoadOptions } from '../../load/options.ts';
import type { Span } from '../../load/tally.ts';

type SpanRow = readonly [Span, label: string, meaning: string];

const OF_REQUESTS: readonly SpanRow[] = [
  ['latency', 'in all', 'due → answered'],
  ['clientLag', 'client', 'due → noticed by this client'],
  ['queued', 'queue', 'noticed → a connection is free'],
  ['response', 'response', 'sent → answered'],
];

const OF_CALLS: readonly SpanRow[] = [
  ['latency', 'in all', 'due → done'],
  ['clientLag', 'client', 'due → noticed by this client'],
  ['queued', 'queue', 'noticed → started'],
  ['response', 'call', 'started → done'],
];

/** The phases of a request or call, with their names and meanings. */
export function spanRows({ task }: Pick<LoadOptions, 'task'>): readonly SpanRow[] {
  return task === undefined ? OF_REQUESTS : OF_CALLS;
}
