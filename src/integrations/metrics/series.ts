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

/** The kind, the names and the unit of a metric. */
function named(
  kind: Series['kind'],
  name: string,
  instrument: string,
  unit: string,
): Omit<Series, 'help' | 'value'> {
  return { kind, name, instrument, unit };
}

/** The metrics of limiters, in Prometheus and OpenTelemetry. */
export const SERIES: readonly Series[] = [
  {
    ...named('counter', 'calls_total', 'limiter.calls', '{call}'),
    help: 'Calls that asked for tokens or permits.',
    value: ({ calls }) => calls,
  },
  {
    ...named('counter', 'admitted_tokens_total', 'limiter.token.admitted', '{token}'),
    help: 'Tokens or permits admitted.',
    value: ({ admitted }) => admitted,
  },
  {
    ...named('counter', 'refused_calls_total', 'limiter.call.refused', '{call}'),
    help: 'Calls refused. A throttled function refuses calls when its queue is full or closed.',
    value: ({ refused }) => refused,
  },
  {
    ...named('counter', 'failed_exchanges_total', 'limiter.failed_exchanges', '{exchange}'),
    help: 'Compare-and-exchanges that failed because another thread was faster.',
    value: ({ failedExchanges }) => failedExchanges,
  },
  {
    ...named('counter', 'reclaimed_entries_total', 'limiter.entry.reclaimed', '{entry}'),
    help: 'Entries reassigned to another key after their bucket was full again.',
    value: ({ reclaimed }) => reclaimed,
  },
  {
    ...named('counter', 'shared_calls_total', 'limiter.call.shared', '{call}'),
    help: 'Calls whose key had no room in the table.',
    value: ({ shared }) => shared,
  },
  {
    ...named('counter', 'completed_calls_total', 'limiter.call.completed', '{call}'),
    help: 'Calls of a throttled function or pool that returned.',
    value: ({ completed }) => completed,
  },
  {
    ...named('counter', 'failed_calls_total', 'limiter.call.failed', '{call}'),
    help: 'Calls of a throttled function or pool that failed or were aborted while running.',
    value: ({ failed }) => failed,
  },
  {
    ...named('counter', 'timed_out_calls_total', 'limiter.call.timed_out', '{call}'),
    help: 'Calls of a throttled function or pool that did not start in time.',
    value: ({ timedOut }) => timedOut,
  },
  {
    ...named('counter', 'aborted_calls_total', 'limiter.call.aborted', '{call}'),
    help: 'Calls of a throttled function or pool that were aborted before they started.',
    value: ({ aborted }) => aborted,
  },
  {
    ...named('counter', 'dropped_calls_total', 'limiter.call.dropped', '{call}'),
    help: 'Calls behind a semaphore that adapts which the server dropped.',
    value: ({ adaptation }) => adaptation?.dropped,
  },
  {
    ...named('counter', 'commands_total', 'limiter.command.sent', '{command}'),
    help: 'Commands that an object on a server has sent. Calls share commands.',
    value: ({ commands }) => commands,
  },
  {
    ...named('counter', 'unanswered_calls_total', 'limiter.call.unanswered', '{call}'),
    help: 'Calls without a response from their server; commands without one from the source of a fleet.',
    value: ({ unreachable }) => unreachable,
  },
  {
    ...named('counter', 'fleet_purchases_total', 'limiter.fleet.purchases', '{purchase}'),
    help: 'Purchases of a fleet bucket.',
    value: ({ purchases }) => purchases,
  },
  {
    ...named('counter', 'fleet_bought_tokens_total', 'limiter.fleet.token.bought', '{token}'),
    help: 'Tokens that a fleet bucket has bought.',
    value: ({ bought }) => bought,
  },
  {
    ...named('counter', 'fleet_returned_tokens_total', 'limiter.fleet.token.returned', '{token}'),
    help: 'Tokens that a fleet bucket has returned to its source.',
    value: ({ returned }) => returned,
  },
  {
    ...named('counter', 'sampler_refused_spans_total', 'sampler.span.refused', '{span}'),
    help: 'Spans that the probability selected but the limit refused.',
    value: ({ spans }) => spans?.refused,
  },
  {
    ...named(
      'counter',
      'sampler_spans_kept_by_minimum_total',
      'sampler.span.kept_by_minimum',
      '{span}',
    ),
    help: 'Spans kept only by the minimum of their operation.',
    value: ({ spans }) => spans?.keptByMinimum,
  },
  {
    ...named('gauge', 'rate_tokens_per_second', 'limiter.rate', '{token}/s'),
    help: 'The current rate; per key for keyed limiters.',
    value: ({ rate }) => rate,
  },
  {
    ...named('level', 'burst_tokens', 'limiter.burst', '{token}'),
    help: 'The largest number of tokens that one call can take; per key for keyed limiters.',
    value: ({ burst }) => burst,
  },
  {
    ...named('level', 'available_tokens', 'limiter.token.available', '{token}'),
    help: 'Tokens available now.',
    value: ({ available }) => available,
  },
  {
    ...named('level', 'debt_tokens', 'limiter.token.debt', '{token}'),
    help: 'Tokens promised to waiting callers.',
    value: ({ balance }) => (balance === undefined ? undefined : Math.max(0, -balance)),
  },
  {
    ...named('level', 'permits', 'limiter.permit.limit', '{permit}'),
    help: 'Permits of a semaphore, in use or not.',
    value: ({ permits }) => permits,
  },
  {
    ...named('level', 'permits_in_use', 'limiter.permit.usage', '{permit}'),
    help: 'Permits in use, over all threads.',
    value: ({ inUse }) => inUse,
  },
  {
    ...named('gauge', 'window_latency_seconds', 'limiter.latency.window', 's'),
    help: 'The average latency of the last window of a semaphore that adapts.',
    value: ({ adaptation }) => adaptation && adaptation.latencyMs / 1000,
  },
  {
    ...named('gauge', 'least_latency_seconds', 'limiter.latency.least', 's'),
    help: 'The average latency without a queue, as a semaphore that adapts has measured it.',
    value: ({ adaptation }) => adaptation && adaptation.leastLatencyMs / 1000,
  },
  {
    ...named('level', 'waiting_callers', 'limiter.caller.waiting', '{caller}'),
    help: 'Callers waiting in the exporting thread; for semaphores, in all threads.',
    value: ({ waiting }) => waiting,
  },
  {
    ...named('gauge', 'longest_wait_seconds', 'limiter.longest_wait', 's'),
    help: 'How long the longest-waiting call of a throttled function or pool has waited.',
    value: ({ oldestMs }) => (oldestMs === undefined ? undefined : oldestMs / 1000),
  },
  {
    ...named('level', 'running_calls', 'limiter.call.running', '{call}'),
    help: 'Calls of a throttled function or pool in flight.',
    value: ({ running }) => running,
  },
  {
    ...named('level', 'entries', 'limiter.entry.count', '{entry}'),
    help: 'Keys whose bucket is not full.',
    value: ({ entries }) => entries,
  },
  {
    ...named('gauge', 'sampler_arrivals_per_second', 'sampler.arrival_rate', '{span}/s'),
    help: 'The smoothed arrival rate of spans.',
    value: ({ spans }) => spans?.arrivalsPerSecond,
  },
  {
    ...named('gauge', 'sampler_probability', 'sampler.probability', '1'),
    help: 'The probability of keeping the next span: 1 minus the threshold.',
    value: ({ spans }) => spans?.probability,
  },
  {
    ...named('gauge', 'reachable', 'limiter.reachable', '1'),
    help: 'Whether the server, or the source of a fleet, responded to the last call.',
    value: ({ reachable }) => reachable,
  },
  {
    ...named('gauge', 'damaged', 'limiter.damaged', '1'),
    help: 'Whether the limiter cannot be read: its memory is damaged. If 1, it has no other values.',
    value: ({ damaged }) => damaged,
  },
];
