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

/** A field of a reading that is a value. */
type Field = Exclude<keyof Reading, 'adaptation' | 'spans'>;

/** Makes metrics of a kind, without their help. Without a field, the value has to be added. */
function ofKind(kind: Series['kind'], ending = '') {
  return (name: string, instrument: string, unit: string, field?: Field) => ({
    ...{ kind, name: `${name}${ending}`, instrument, unit },
    value: (reading: Reading) => field && reading[field],
  });
}
const counter = ofKind('counter', '_total');
const level = ofKind('level');
const gauge = ofKind('gauge');

/** The metrics of limiters, in Prometheus and OpenTelemetry. */
export const SERIES: readonly Series[] = [
  {
    ...counter('calls', 'limiter.calls', '{call}', 'calls'),
    help: 'Calls that asked for tokens or permits.',
  },
  {
    ...counter('admitted_tokens', 'limiter.token.admitted', '{token}', 'admitted'),
    help: 'Tokens or permits admitted.',
  },
  {
    ...counter('refused_calls', 'limiter.call.refused', '{call}', 'refused'),
    help: 'Calls refused. A throttled function refuses calls when its queue is full or closed.',
  },
  {
    ...counter('failed_exchanges', 'limiter.failed_exchanges', '{exchange}', 'failedExchanges'),
    help: 'Compare-and-exchanges that failed because another thread was faster.',
  },
  {
    ...counter('reclaimed_entries', 'limiter.entry.reclaimed', '{entry}', 'reclaimed'),
    help: 'Entries reassigned to another key after their bucket was full again.',
  },
  {
    ...counter('shared_calls', 'limiter.call.shared', '{call}', 'shared'),
    help: 'Calls whose key had no room in the table.',
  },
  {
    ...counter('completed_calls', 'limiter.call.completed', '{call}', 'completed'),
    help: 'Calls of a throttled function or pool that returned.',
  },
  {
    ...counter('failed_calls', 'limiter.call.failed', '{call}', 'failed'),
    help: 'Calls of a throttled function or pool that failed or were aborted while running.',
  },
  {
    ...counter('timed_out_calls', 'limiter.call.timed_out', '{call}', 'timedOut'),
    help: 'Calls of a throttled function or pool that did not start in time.',
  },
  {
    ...counter('aborted_calls', 'limiter.call.aborted', '{call}', 'aborted'),
    help: 'Calls of a throttled function or pool that were aborted before they started.',
  },
  {
    ...counter('dropped_calls', 'limiter.call.dropped', '{call}'),
    help: 'Calls behind a semaphore that adapts which the server dropped.',
    value: ({ adaptation }) => adaptation?.dropped,
  },
  {
    ...counter('commands', 'limiter.command.sent', '{command}', 'commands'),
    help: 'Commands that an object on a server has sent. Calls share commands.',
  },
  {
    ...counter('unanswered_calls', 'limiter.call.unanswered', '{call}', 'unreachable'),
    help: 'Calls without a response from their server; commands without one from the source of a fleet.',
  },
  {
    ...counter('fleet_purchases', 'limiter.fleet.purchases', '{purchase}', 'purchases'),
    help: 'Purchases of a fleet bucket.',
  },
  {
    ...counter('fleet_bought_tokens', 'limiter.fleet.token.bought', '{token}', 'bought'),
    help: 'Tokens that a fleet bucket has bought.',
  },
  {
    ...counter('fleet_returned_tokens', 'limiter.fleet.token.returned', '{token}', 'returned'),
    help: 'Tokens that a fleet bucket has returned to its source.',
  },
  {
    ...counter('sampler_refused_spans', 'sampler.span.refused', '{span}'),
    help: 'Spans that the probability selected but the limit refused.',
    value: ({ spans }) => spans?.refused,
  },
  {
    ...counter('sampler_spans_kept_by_minimum', 'sampler.span.kept_by_minimum', '{span}'),
    help: 'Spans kept only by the minimum of their operation.',
    value: ({ spans }) => spans?.keptByMinimum,
  },
  {
    ...gauge('rate_tokens_per_second', 'limiter.rate', '{token}/s', 'rate'),
    help: 'The current rate; per key for keyed limiters.',
  },
  {
    ...level('burst_tokens', 'limiter.burst', '{token}', 'burst'),
    help: 'The largest number of tokens that one call can take; per key for keyed limiters.',
  },
  {
    ...level('available_tokens', 'limiter.token.available', '{token}', 'available'),
    help: 'Tokens available now.',
  },
  {
    ...level('debt_tokens', 'limiter.token.debt', '{token}'),
    help: 'Tokens promised to waiting callers.',
    value: ({ balance }) => (balance === undefined ? undefined : Math.max(0, -balance)),
  },
  {
    ...level('permits', 'limiter.permit.limit', '{permit}', 'permits'),
    help: 'Permits of a semaphore, in use or not.',
  },
  {
    ...level('permits_in_use', 'limiter.permit.usage', '{permit}', 'inUse'),
    help: 'Permits in use, over all threads.',
  },
  {
    ...gauge('window_latency_seconds', 'limiter.latency.window', 's'),
    help: 'The average latency of the last window of a semaphore that adapts.',
    value: ({ adaptation }) => adaptation && adaptation.latencyMs / 1000,
  },
  {
    ...gauge('least_latency_seconds', 'limiter.latency.least', 's'),
    help: 'The average latency without a queue, as a semaphore that adapts has measured it.',
    value: ({ adaptation }) => adaptation && adaptation.leastLatencyMs / 1000,
  },
  {
    ...level('waiting_callers', 'limiter.caller.waiting', '{caller}', 'waiting'),
    help: 'Callers waiting in the exporting thread; for semaphores, in all threads.',
  },
  {
    ...gauge('longest_wait_seconds', 'limiter.longest_wait', 's'),
    help: 'How long the longest-waiting call of a throttled function or pool has waited.',
    value: ({ oldestMs }) => (oldestMs === undefined ? undefined : oldestMs / 1000),
  },
  {
    ...level('running_calls', 'limiter.call.running', '{call}', 'running'),
    help: 'Calls of a throttled function or pool in flight.',
  },
  {
    ...level('entries', 'limiter.entry.count', '{entry}', 'entries'),
    help: 'Keys whose bucket is not full.',
  },
  {
    ...gauge('sampler_arrivals_per_second', 'sampler.arrival_rate', '{span}/s'),
    help: 'The smoothed arrival rate of spans.',
    value: ({ spans }) => spans?.arrivalsPerSecond,
  },
  {
    ...gauge('sampler_probability', 'sampler.probability', '1'),
    help: 'The probability of keeping the next span: 1 minus the threshold.',
    value: ({ spans }) => spans?.probability,
  },
  {
    ...gauge('reachable', 'limiter.reachable', '1', 'reachable'),
    help: 'Whether the server, or the source of a fleet, responded to the last call.',
  },
  {
    ...gauge('damaged', 'limiter.damaged', '1', 'damaged'),
    help: 'Whether the limiter cannot be read: its memory is damaged. If 1, it has no other values.',
  },
];
