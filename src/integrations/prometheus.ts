// Entry point `zerotime/prometheus`.
import { Counter, Gauge, register as globalRegistry, type Registry } from 'prom-client';
import { RateLimitError } from '../errors.ts';
import type { KeyedFixedWindow } from '../limiters/keyed-fixed-window.ts';
import type { KeyedTokenBucket } from '../limiters/keyed-token-bucket.ts';
import type { KeyedStats, LimiterStats } from '../limiters/stats.ts';
import { checkObject, shown } from '../options.ts';

/** A limiter with counters: any bucket, window or log created with `stats: true`. */
export interface CountedLimiter {
  /** The counters of all threads. */
  stats(): LimiterStats;
  /** The largest number of tokens that one call can take. */
  readonly limit: number;
  /** In tokens per second; windows and logs have none. */
  readonly rate?: number;
  /** Tokens that can be taken now. */
  available(): number;
  /** Like `available`, but negative in debt; windows and logs have no debt. */
  balance?(): number;
}

/**
 * A limiter that {@link LimiterMetrics} can export. A keyed one also counts its entries.
 */
export type MeasuredLimiter = CountedLimiter | KeyedTokenBucket | KeyedFixedWindow;

/** A region whose limiters have names: a `HostRegion` of `zerotime/host`. */
export interface LimiterRegion {
  /** Its limiters by name. */
  limiters(): Iterable<{ readonly name: string; readonly limiter: unknown }>;
}

/** Whether a limiter of a region can be exported. */
function isMeasured(limiter: unknown): limiter is MeasuredLimiter {
  const { stats, limit, burst } = limiter as Partial<CountedLimiter> & { readonly burst?: number };
  if (typeof stats !== 'function' || (limit ?? burst) === undefined) return false;
  try {
    readingOf(limiter as MeasuredLimiter); // it has the methods of one
    return true;
  } catch (error) {
    if (error instanceof RateLimitError) return false; // it keeps no counts
    throw error;
  }
}

/** The registry and the metric name prefix. */
export interface LimiterMetricsOptions {
  /** Default: prom-client's global `register`. */
  readonly register?: Registry;
  /** Letters, digits and `_`. Default `zerotime_`. */
  readonly prefix?: string;
}

/** The values of one limiter at a scrape. */
interface Reading extends Partial<LimiterStats>, Partial<KeyedStats> {
  readonly rate?: number | undefined;
  readonly burst: number;
  readonly available?: number;
  readonly debt?: number | undefined;
}

interface Series {
  readonly name: string;
  readonly help: string;
  readonly value: (reading: Reading) => number | undefined;
}

const COUNTERS: readonly Series[] = [
  { name: 'calls_total', help: 'Calls that asked for tokens.', value: ({ calls }) => calls },
  { name: 'admitted_tokens_total', help: 'Tokens admitted.', value: ({ admitted }) => admitted },
  { name: 'refused_calls_total', help: 'Calls refused.', value: ({ refused }) => refused },
  {
    name: 'lost_races_total',
    help: 'Compare-and-exchange races lost to another thread.',
    value: ({ lostRaces }) => lostRaces,
  },
  {
    name: 'reclaimed_entries_total',
    help: 'Entries reassigned to another key after their bucket was full again.',
    value: ({ reclaimed }) => reclaimed,
  },
  {
    name: 'shared_calls_total',
    help: 'Calls whose key had no room in the table.',
    value: ({ shared }) => shared,
  },
];

const GAUGES: readonly Series[] = [
  {
    name: 'rate_tokens_per_second',
    help: 'The current rate; per key for keyed limiters.',
    value: ({ rate }) => rate,
  },
  {
    name: 'burst_tokens',
    help: 'The largest number of tokens that one call can take; per key for keyed limiters.',
    value: ({ burst }) => burst,
  },
  {
    name: 'available_tokens',
    help: 'Tokens that can be taken now.',
    value: ({ available }) => available,
  },
  {
    name: 'debt_tokens',
    help: 'Tokens promised to waiting callers.',
    value: ({ debt }) => debt,
  },
  {
    name: 'waiting_callers',
    help: 'Callers waiting in the thread that exports.',
    value: ({ waiting }) => waiting,
  },
  { name: 'entries', help: 'Keys whose bucket is not full.', value: ({ entries }) => entries },
];

function readingOf(limiter: MeasuredLimiter): Reading {
  if ('intervalMs' in limiter && 'for' in limiter) {
    return { ...limiter.stats(), burst: limiter.limit };
  }
  const { rate } = limiter;
  if ('for' in limiter) return { ...limiter.stats(), rate, burst: limiter.burst };
  const balance = limiter.balance?.();
  return {
    ...limiter.stats(),
    rate,
    burst: limiter.limit,
    available: limiter.available(),
    debt: balance === undefined ? undefined : Math.max(0, -balance),
  };
}

/**
 * Exports limiters to Prometheus through prom-client. Each limiter is one value of the label
 * `limiter`, and its counters cover all threads, so export it from one thread only. Limiters are
 * read at each scrape, which adds nothing to the cost of their calls.
 *
 * @example
 * ```ts
 * import { register } from 'prom-client';
 * import { LimiterMetrics } from 'zerotime/prometheus';
 *
 * const bucket = TokenBucket.create({ rate: 100, burst: 10, stats: true });
 * const metrics = new LimiterMetrics({ register });
 * metrics.add('orders', bucket);
 * response.end(await register.metrics()); // zerotime_calls_total{limiter="orders"} 0 ...
 * ```
 */
export class LimiterMetrics {
  readonly #register: Registry;
  readonly #names: readonly string[];
  readonly #limiters = new Map<string, MeasuredLimiter>();
  readonly #regions: LimiterRegion[] = [];
  #readings: ReadonlyMap<string, Reading> | undefined;

  /**
   * Registers the metrics. Add limiters with {@link add}.
   *
   * @throws Error if the registry already has one of the names, or prom-client rejects the prefix.
   */
  constructor(options: LimiterMetricsOptions = {}) {
    const { register = globalRegistry, prefix = 'zerotime_' } = checkObject('options', options);
    this.#register = register;
    this.#names = [...COUNTERS, ...GAUGES].map(({ name }) => prefix + name);
    const taken = this.#names.find((name) => register.getSingleMetric(name) !== undefined);
    if (taken !== undefined) throw new Error(`the registry has a metric ${taken} already`);
    for (const series of COUNTERS) this.#registerCounter(prefix, series);
    for (const series of GAUGES) this.#registerGauge(prefix, series);
  }

  /**
   * Exports a limiter under the label `limiter="<name>"` until {@link remove} is called.
   *
   * @throws RateLimitError `ERR_STATS_DISABLED` if the limiter was created without `stats: true`. A
   * keyed bucket without it is accepted and exports only its entries.
   * @throws TypeError if `limiter` has no `stats` method; RangeError if the name is taken.
   */
  add(name: string, limiter: MeasuredLimiter): void {
    if (typeof name !== 'string') throw new TypeError(`name must be a string, got ${shown(name)}`);
    if (typeof limiter?.stats !== 'function') {
      throw new TypeError(`limiter must have a method stats, got ${shown(limiter)}`);
    }
    if (this.#limiters.has(name)) {
      throw new RangeError(`name must be one that is not shown yet, got ${shown(name)}`);
    }
    readingOf(limiter); // throws here rather than at the next scrape
    this.#limiters.set(name, limiter);
  }

  /**
   * Exports the limiters of a region by their names, also those that are created later: all that keep
   * counts, over all processes that share the region. Export it from one process only.
   *
   * @example
   * ```ts
   * import { HostRegion } from 'zerotime/host';
   * import { LimiterMetrics } from 'zerotime/prometheus';
   *
   * const metrics = new LimiterMetrics();
   * metrics.addRegion(HostRegion.find('my-service'));
   * ```
   */
  addRegion(region: LimiterRegion): void {
    this.#regions.push(region);
    this.#findLimiters();
  }

  #findLimiters(): void {
    for (const region of this.#regions) {
      for (const { name, limiter } of region.limiters()) {
        if (!this.#limiters.has(name) && isMeasured(limiter)) this.#limiters.set(name, limiter);
      }
    }
  }

  /** Stops exporting a limiter. Returns whether the name was known. */
  remove(name: string): boolean {
    return this.#limiters.delete(name);
  }

  /** Removes these metrics from the registry. */
  unregister(): void {
    for (const name of this.#names) this.#register.removeSingleMetric(name);
  }

  /**
   * Reads each limiter once for all metrics of a scrape, which prom-client collects in the same
   * microtask turn. The metrics agree with each other, and a large table is counted once.
   */
  #read(): ReadonlyMap<string, Reading> {
    if (this.#readings === undefined) {
      this.#findLimiters();
      this.#readings = new Map(
        [...this.#limiters].map(([name, limiter]) => [name, readingOf(limiter)]),
      );
      queueMicrotask(() => {
        this.#readings = undefined;
      });
    }
    return this.#readings;
  }

  #registerCounter(prefix: string, { name, help, value }: Series): void {
    const counter = new Counter({
      name: prefix + name,
      help,
      labelNames: ['limiter'],
      registers: [this.#register],
      collect: () => {
        counter.reset(); // a prom-client counter can only be added to, and readings are totals
        for (const [limiter, reading] of this.#read()) {
          const count = value(reading);
          if (count !== undefined) counter.inc({ limiter }, count);
        }
      },
    });
  }

  #registerGauge(prefix: string, { name, help, value }: Series): void {
    const gauge = new Gauge({
      name: prefix + name,
      help,
      labelNames: ['limiter'],
      registers: [this.#register],
      collect: () => {
        gauge.reset();
        for (const [limiter, reading] of this.#read()) {
          const level = value(reading);
          if (level !== undefined) gauge.set({ limiter }, level);
        }
      },
    });
  }
}
