// Entry point `zerotime/opentelemetry/metrics`. It imports nothing of OpenTelemetry but types.

import type {
  BatchObservableCallback,
  BatchObservableResult,
  Meter,
  Observable,
} from '@opentelemetry/api';
import { checkOptions } from '../../known-options.ts';
import { shown } from '../../options.ts';
import { ExportedLimiters, type LimiterRegion } from '../metrics/exported-limiters.ts';
import type { MeasuredLimiter } from '../metrics/readings.ts';
import { SERIES, type Series } from '../metrics/series.ts';

export type { LimiterRegion, RegionLimiter } from '../metrics/exported-limiters.ts';
export type {
  CountedLimiter,
  CountedSampler,
  CountedSemaphore,
  CountedThrottle,
  MeasuredLimiter,
  SpanCounts,
} from '../metrics/readings.ts';

/** Where the instruments of {@link LimiterMetrics} are created. */
export interface LimiterMetricsOptions {
  /**
   * The meter, such as `metrics.getMeter('zerotime')` of `@opentelemetry/api` 1.3 or later. Get it
   * after the SDK was started: one from before measures nothing.
   */
  readonly meter: Meter;
}

/** The attribute that names the limiter. */
const NAME = 'zerotime.limiter.name';

interface Instrument {
  readonly observable: Observable;
  readonly value: Series['value'];
}

/**
 * Exports limiters through OpenTelemetry, as observable instruments: `zerotime.limiter.calls` and
 * others. Each limiter is one value of the attribute `zerotime.limiter.name`, and its counters
 * cover all threads, so export it from one thread only. Limiters are read once for each collection,
 * which adds nothing to the cost of their calls. One whose memory is damaged shows
 * `zerotime.limiter.damaged` as 1 and nothing else; the others are not affected.
 *
 * @example
 * ```ts
 * import { metrics } from '@opentelemetry/api';
 * import { LimiterMetrics } from 'zerotime/opentelemetry/metrics';
 *
 * const bucket = TokenBucket.create({ rate: 100, burst: 10, stats: true });
 * const limiterMetrics = new LimiterMetrics({ meter: metrics.getMeter('zerotime') });
 * limiterMetrics.add('orders', bucket);
 * ```
 */
export class LimiterMetrics {
  readonly #meter: Meter;
  readonly #instruments: readonly Instrument[];
  readonly #observables: Observable[];
  readonly #exported = new ExportedLimiters();
  readonly #observe: BatchObservableCallback = (result) => this.#observeAll(result);

  /**
   * Creates the instruments. Add limiters with {@link add}.
   *
   * @throws TypeError if `meter` is not one, or an option does not exist.
   */
  constructor(options: LimiterMetricsOptions) {
    const { meter } = checkOptions(options, { meter: true });
    if (typeof meter?.addBatchObservableCallback !== 'function') {
      throw new TypeError(`meter must be a Meter of @opentelemetry/api, got ${shown(meter)}`);
    }
    this.#meter = meter;
    this.#instruments = SERIES.map((series) => ({
      observable: instrumentOf(meter, series),
      value: series.value,
    }));
    this.#observables = this.#instruments.map(({ observable }) => observable);
    meter.addBatchObservableCallback(this.#observe, this.#observables);
  }

  /**
   * Exports a limiter with the attribute `zerotime.limiter.name` until {@link remove} is called.
   *
   * @throws RateLimitError `ERR_STATS_DISABLED` if the limiter was created without `stats: true`. A
   * keyed bucket without it is accepted and exports only its entries.
   * @throws TypeError if `limiter` has no `stats` method; RangeError if the name is taken.
   */
  add(name: string, limiter: MeasuredLimiter): void {
    this.#exported.add(name, limiter);
  }

  /**
   * Exports the limiters of a region by their names, also those that are created later: all that keep
   * counts, over all processes that share the region. Export it from one process only.
   *
   * @throws TypeError if `region` has no `limiters` method.
   */
  addRegion(region: LimiterRegion): void {
    this.#exported.addRegion(region);
  }

  /**
   * Stops exporting a limiter. Returns whether the name was known. Readers of SDK 2 repeat its last
   * values, unless their temporality is delta.
   */
  remove(name: string): boolean {
    return this.#exported.remove(name);
  }

  /** Stops exporting all limiters. A meter cannot remove instruments: they have no values any more. */
  unregister(): void {
    this.#meter.removeBatchObservableCallback(this.#observe, this.#observables);
  }

  #observeAll(result: BatchObservableResult): void {
    for (const [name, reading] of this.#exported.read()) {
      const attributes = { [NAME]: name };
      for (const { observable, value } of this.#instruments) {
        const found = value(reading);
        // An unlimited rate has no value: OTLP in JSON has no infinity.
        if (found !== undefined && Number.isFinite(found)) {
          result.observe(observable, found, attributes);
        }
      }
    }
  }
}

function instrumentOf(meter: Meter, { kind, instrument, help, unit }: Series): Observable {
  const name = `zerotime.${instrument}`;
  const options = { description: help, unit };
  if (kind === 'counter') return meter.createObservableCounter(name, options);
  if (kind === 'level') return meter.createObservableUpDownCounter(name, options);
  return meter.createObservableGauge(name, options);
}
