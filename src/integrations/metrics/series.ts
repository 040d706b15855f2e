import type { Reading } from './readings.ts';

/** A metric: its names and the source of its value. */
export interface Series {
  /**
   * `counter`: only grows. `level`: rises and falls, and can be summed over limiters. `gauge`: sums
   * are meaningless.
   */
  readonly kind: 'counter' | 'level' | 'gauge';
  /** The name in Prometheus, after the prefix. */
  readonly name: string;
  /** The name in OpenTelemetry, after `zerotime.`; by convention without unit and `total`. */
  readonly instrument: string;
  /** The unit in UCUM, as in OpenTelemetry: counted things are in braces. */
  readonly unit: string;
  readonly help: string;
  readonly value: (reading: Reading) => number | undefined;
}

/** The metrics of limiters, in Prometheus and OpenTelemetry. */
export const SERIES: readonly Series[] = [
  {
    kind: 'counter',
    name: 'calls_total',
    instrument: 'limiter.calls',
    unit: '{call}',
    help: 'Calls that asked for tokens or permits.',
    value: ({ calls }) => calls,
  },
  {
    kind: 'counter',
    name: 'admitted_tokens_total',
    instrument: 'limiter.token.admitted',
    unit: '{token}',
    help: 'Tokens or permits admitted.',
    value: ({ admitted }) => admitted,
  },
  {
    kind: 'counter',
    name: 'refused_calls_total',
    instrument: 'limiter.call.refused',
    unit: '{call}',
    help: 'Calls refused. A throttled function refuses calls when its queue is full or closed.',
    value: ({ refused }) => refused,
  },
  {
    kind: 'counter',
    name: 'lost_races_total',
    instrument: 'limiter.lost_races',
    unit: '{race}',
    help: 'Compare-and-exchange races lost to another thread.',
    value: ({ lostRaces }) => lostRaces,
  },
  {
    kind: 'counter',
    name: 'reclaimed_entries_total',
    instrument: 'limiter.entry.reclaimed',
    unit: '{entry}',
    help: 'Entries reassigned to another key after their bucket was full again.',
    value: ({ reclaimed }) => reclaimed,
  },
  {
    kind: 'counter',
    name: 'shared_calls_total',
    instrument: 'limiter.call.shared',
    unit: '{call}',
    help: 'Calls whose key had no room in the table.',
    value: ({ shared }) => shared,
  },
  {
    kind: 'counter',
    name: 'completed_calls_total',
    instrument: 'limiter.call.completed',
    unit: '{call}',
    help: 'Calls of a throttled function or pool that returned.',
    value: ({ completed }) => completed,
  },
  {
    kind: 'counter',
    name: 'failed_calls_total',
    instrument: 'limiter.call.failed',
    unit: '{call}',
    help: 'Calls of a throttled function or pool that failed or were aborted while running.',
    value: ({ failed }) => failed,
  },
  {
    kind: 'counter',
    name: 'timed_out_calls_total',
    instrument: 'limiter.call.timed_out',
    unit: '{call}',
    help: 'Calls of a throttled function or pool that did not start in time.',
    value: ({ timedOut }) => timedOut,
  },
  {
    kind: 'counter',
    name: 'aborted_calls_total',
    instrument: 'limiter.call.aborted',
    unit: '{call}',
    help: 'Calls of a throttled function or pool that were aborted before they started.',
    value: ({ aborted }) => aborted,
  },
  {
    kind: 'counter',
    name: 'sampler_refused_spans_total',
    instrument: 'sampler.span.refused',
    unit: '{span}',
    help: 'Spans that the probability selected but the limit refused.',
    value: ({ spans }) => spans?.refused,
  },
  {
    kind: 'counter',
    name: 'sampler_spans_kept_by_minimum_total',
    instrument: 'sampler.span.kept_by_minimum',
    unit: '{span}',
    help: 'Spans kept only by the minimum of their operation.',
    value: ({ spans }) => spans?.keptByMinimum,
  },
  {
    kind: 'gauge',
    name: 'rate_tokens_per_second',
    instrument: 'limiter.rate',
    unit: '{token}/s',
    help: 'The current rate; per key for keyed limiters.',
    value: ({ rate }) => rate,
  },
  {
    kind: 'level',
    name: 'burst_tokens',
    instrument: 'limiter.burst',
    unit: '{token}',
    help: 'The largest number of tokens that one call can take; per key for keyed limiters.',
    value: ({ burst }) => burst,
  },
  {
    kind: 'level',
    name: 'available_tokens',
    instrument: 'limiter.token.available',
    unit: '{token}',
    help: 'Tokens available now.',
    value: ({ available }) => available,
  },
  {
    kind: 'level',
    name: 'debt_tokens',
    instrument: 'limiter.token.debt',
    unit: '{token}',
    help: 'Tokens promised to waiting callers.',
    value: ({ debt }) => debt,
  },
  {
    kind: 'level',
    name: 'permits',
    instrument: 'limiter.permit.limit',
    unit: '{permit}',
    help: 'Permits of a semaphore, in use or not.',
    value: ({ permits }) => permits,
  },
  {
    kind: 'level',
    name: 'permits_in_use',
    instrument: 'limiter.permit.usage',
    unit: '{permit}',
    help: 'Permits in use, over all threads.',
    value: ({ inUse }) => inUse,
  },
  {
    kind: 'level',
    name: 'waiting_callers',
    instrument: 'limiter.caller.waiting',
    unit: '{caller}',
    help: 'Callers waiting in the exporting thread; for semaphores, in all threads.',
    value: ({ waiting }) => waiting,
  },
  {
    kind: 'gauge',
    name: 'longest_wait_seconds',
    instrument: 'limiter.longest_wait',
    unit: 's',
    help: 'How long the longest-waiting call of a throttled function or pool has waited.',
    value: ({ oldestMs }) => (oldestMs === undefined ? undefined : oldestMs / 1000),
  },
  {
    kind: 'level',
    name: 'running_calls',
    instrument: 'limiter.call.running',
    unit: '{call}',
    help: 'Calls of a throttled function or pool in flight.',
    value: ({ running }) => running,
  },
  {
    kind: 'level',
    name: 'entries',
    instrument: 'limiter.entry.count',
    unit: '{entry}',
    help: 'Keys whose bucket is not full.',
    value: ({ entries }) => entries,
  },
  {
    kind: 'gauge',
    name: 'sampler_arrivals_per_second',
    instrument: 'sampler.arrival_rate',
    unit: '{span}/s',
    help: 'The smoothed arrival rate of spans.',
    value: ({ spans }) => spans?.arrivalsPerSecond,
  },
  {
    kind: 'gauge',
    name: 'sampler_probability',
    instrument: 'sampler.probability',
    unit: '1',
    help: 'The probability of keeping the next span: 1 minus the threshold.',
    value: ({ spans }) => spans?.probability,
  },
  {
    kind: 'gauge',
    name: 'damaged',
    instrument: 'limiter.damaged',
    unit: '1',
    help: 'Whether the memory of the limiter is damaged. If 1, it has no other values.',
    value: ({ damaged }) => damaged,
  },
];
