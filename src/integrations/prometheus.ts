// An entry point of its own, `zerotime/prometheus`.
import { Counter, Gauge, register as globalRegistry, type Registry } from 'prom-client';
import type { LimiterStats } from '../kernel/bucket/kernel.ts';
import type { KeyedStats } from '../kernel/keyed/host.ts';
import type { KeyedTokenBucket } from '../limiters/keyed-token-bucket.ts';
import { checkObject, shown } from '../options.ts';

/** A limiter that counts: any bucket, window or log made with `stats: true`. */
export interface CountedLimiter {
  /** The counters; the limiter is made with `stats: true`. */
  stats(): LimiterStats;
  /** The most tokens that can be taken at once. */
  readonly limit: number;
  /** In tokens per second; windows and logs have none. */
  readonly rate?: number;
  /** Tokens that can be taken now. */
  available(): number;
  /** The same, negative in debt; windows and logs have no debt. */
  balance?(): number;
}

/** What {@link LimiterMetrics} shows. A keyed token bucket also counts its entries. */
export type MeasuredLimiter = CountedLimiter | KeyedTokenBucket;

/** Where the metrics go, and what their names begin with. */
export interface LimiterMetricsOptions {
  /** Default: prom-client's own `register`. */
  readonly register?: Registry;
  /** Letters, digits and `_`. Default `zerotime_`. */
  readonly prefix?: string;
}

/** One limiter at the instant of a scrape. */
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
  { name: 'refused_calls_total', help: 'Calls that got nothing.', value: ({ refused }) => refused },
  {
    name: 'lost_races_total',
    help: 'Compare-and-exchange races lost to another thread.',
    value: ({ lostRaces }) => lostRaces,
  },
  {
    name: 'reclaimed_entries_total',
    help: 'Entries of keys whose bucket was full again that went to another key.',
    value: ({ reclaimed }) => reclaimed,
  },
  {
    name: 'shared_calls_total',
    help: 'Calls whose key found no place in the table.',
    value: ({ shared }) => shared,
  },
];

const GAUGES: readonly Series[] = [
  {
    name: 'rate_tokens_per_second',
    help: 'The rate in force, of each key where there are keys.',
    value: ({ rate }) => rate,
  },
  {
    name: 'burst_tokens',
    help: 'The most tokens that can be taken at once, of each key where there are keys.',
    value: ({ burst }) => burst,
  },
  {
    name: 'available_tokens',
    help: 'Tokens that can be taken now.',
    value: ({ available }) => available,
  },
  {
    name: 'debt_tokens',
    help: 'Tokens promised to callers that wait.',
    value: ({ debt }) => debt,
  },
  { name: 'entries', help: 'Keys whose bucket is not full.', value: ({ entries }) => entries },
];

function readingOf(limiter: MeasuredLimiter): Reading {
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
 * Shows limiters to Prometheus through prom-client: what they count over all threads, each under the
 * label `limiter`. They are read when the registry is, by the thread that has it: one thread shows a
 * limiter for all, and no call of the limiter costs more for it.
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
  #readings: ReadonlyMap<string, Reading> | undefined;

  /**
   * Registers the metrics, with no limiter yet.
   *
   * @throws Error, of prom-client, if the registry has one of these names, or the prefix is unfit.
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
   * Shows a limiter under the label `limiter="<name>"`, until it is removed.
   *
   * @throws RateLimitError `ERR_STATS_DISABLED` if it was made without `stats: true`; a keyed bucket
   * then shows its entries only.
   * @throws TypeError if it does not count; RangeError if the name is taken.
   */
  add(name: string, limiter: MeasuredLimiter): void {
    if (typeof name !== 'string') throw new TypeError(`name must be a string, got ${shown(name)}`);
    if (typeof limiter?.stats !== 'function') {
      throw new TypeError(`limiter must have a method stats, got ${shown(limiter)}`);
    }
    if (this.#limiters.has(name)) {
      throw new RangeError(`name must be one that is not shown yet, got ${shown(name)}`);
    }
    readingOf(limiter); // fails here, not at the next scrape
    this.#limiters.set(name, limiter);
  }

  /** Shows this limiter no more; returns whether it was shown. */
  remove(name: string): boolean {
    return this.#limiters.delete(name);
  }

  /** Takes all of these metrics out of the registry. */
  unregister(): void {
    for (const name of this.#names) this.#register.removeSingleMetric(name);
  }

  /**
   * One reading of each limiter for all metrics of a scrape: they start to collect in the same turn.
   * So they agree with each other, and a large table is counted once.
   */
  #read(): ReadonlyMap<string, Reading> {
    if (this.#readings === undefined) {
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
        counter.reset(); // prom-client can only add, and the limiter has counted already
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
