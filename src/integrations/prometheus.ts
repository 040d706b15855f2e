// Entry point `zerotime/prometheus`.
import {
  Counter,
  Gauge,
  register as globalRegistry,
  type Metric,
  type Registry,
} from 'prom-client';
import { checkOptions, type Known } from '../known-options.ts';
import { checkPeer } from '../peers.ts';
import { Exporting } from './metrics/exporting.ts';
import type { Reading } from './metrics/readings.ts';
import { SERIES, type Series } from './metrics/series.ts';

checkPeer('zerotime/prometheus', 'prom-client');

export type { LimiterRegion, RegionLimiter } from './metrics/exporting.ts';
export type {
  CountedFleet,
  CountedLimiter,
  CountedSampler,
  CountedSemaphore,
  CountedServerLimiter,
  CountedThrottle,
  MeasuredLimiter,
  SpanCounts,
} from './metrics/readings.ts';

/** The registry and the metric name prefix. */
export interface LimiterMetricsOptions {
  /** Default: prom-client's global `register`. */
  readonly register?: Registry;
  /** Letters, digits and `_`. Default `zerotime_`. */
  readonly prefix?: string;
}

const OPTIONS: Known<LimiterMetricsOptions> = { register: true, prefix: true };

/**
 * Exports limiters to Prometheus through prom-client. The label `limiter` names the limiter.
 * Counters cover all threads, so export each limiter from one thread only. Limiters are read at
 * each scrape, at no cost to their calls. A limiter with damaged memory only exports `damaged` as
 * 1; others are not affected.
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
export class LimiterMetrics extends Exporting {
  readonly #register: Registry;
  readonly #metrics: ReadonlyMap<string, Metric>;
  #readings: ReadonlyMap<string, Reading> | undefined;

  /**
   * Registers the metrics. Add limiters with {@link add}.
   *
   * @throws TypeError for an unknown option.
   * @throws Error if the registry already has one of the names, or prom-client rejects the prefix.
   */
  constructor(options: LimiterMetricsOptions = {}) {
    super();
    const { register = globalRegistry, prefix = 'zerotime_' } = checkOptions(options, OPTIONS);
    this.#register = register;
    const names = SERIES.map(({ name }) => prefix + name);
    const taken = names.find((name) => register.getSingleMetric(name) !== undefined);
    if (taken !== undefined) throw new Error(`the registry already has a metric ${taken}`);
    this.#metrics = new Map(
      SERIES.map((series) => [prefix + series.name, this.#export(prefix, series)]),
    );
  }

  /** Removes these metrics from the registry, but no others that have their names by now. */
  unregister(): void {
    for (const [name, metric] of this.#metrics) {
      if (this.#register.getSingleMetric(name) === metric) this.#register.removeSingleMetric(name);
    }
  }

  /**
   * Reads each limiter once per scrape: prom-client collects all metrics in the same microtask
   * turn. The metrics agree with each other, and a large table is counted once.
   */
  #read(): ReadonlyMap<string, Reading> {
    if (this.#readings === undefined) {
      this.#readings = this.readAll();
      queueMicrotask(() => {
        this.#readings = undefined;
      });
    }
    return this.#readings;
  }

  #export(prefix: string, { kind, name, help, value }: Series): Metric {
    const options = {
      name: prefix + name,
      help,
      labelNames: ['limiter'],
      registers: [this.#register],
      collect: () => {
        metric.reset(); // readings are totals, but a prom-client counter can only be incremented
        for (const [limiter, reading] of this.#read()) {
          const found = value(reading);
          if (typeof found === 'number') metric.inc({ limiter }, found);
        }
      },
    };
    const metric = kind === 'counter' ? new Counter(options) : new Gauge(options);
    return metric;
  }
}
