// Entry point `zerotime/opentelemetry/metrics`. Imports only types from OpenTelemetry.

import type {
  BatchObservableCallback,
  BatchObservableResult,
  Meter,
  Observable,
} from '@opentelemetry/api';
import { checkOptions } from '../../known-options.ts';
import { shown } from '../../options.ts';
import { checkPeer } from '../../peers.ts';
import { Exporting } from '../metrics/exporting.ts';
import { SERIES, type Series } from '../metrics/series.ts';

export type { LimiterRegion, RegionLimiter } from '../metrics/exporting.ts';
export type {
  CountedFleet,
  CountedLimiter,
  CountedSampler,
  CountedSemaphore,
  CountedServerLimiter,
  CountedThrottle,
  MeasuredLimiter,
  SpanCounts,
} from '../metrics/readings.ts';

/** Options of {@link LimiterMetrics}. */
export interface LimiterMetricsOptions {
  /**
   * The meter, such as `metrics.getMeter('zerotime')` of `@opentelemetry/api` 1.3 or later. Get it
   * after the SDK has started: an earlier one records nothing.
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
 * Exports limiters to OpenTelemetry as observable instruments, such as `zerotime.limiter.calls`.
 * The attribute `zerotime.limiter.name` names the limiter. Counters cover all threads, so export
 * each limiter from one thread only. Limiters are read once per collection, at no cost to their
 * calls. A limiter with damaged memory only exports `zerotime.limiter.damaged` as 1; others are not
 * affected.
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
export class LimiterMetrics extends Exporting {
  readonly #meter: Meter;
  readonly #instruments: readonly Instrument[];
  readonly #observables: Observable[];
  readonly #observe: BatchObservableCallback = (result) => this.#observeAll(result);

  /**
   * Creates the instruments. Add limiters with {@link add}.
   *
   * @throws TypeError if `meter` is not a meter, or an option is unknown.
   */
  constructor(options: LimiterMetricsOptions) {
    super();
    checkPeer('zerotime/opentelemetry/metrics', '@opentelemetry/api');
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
   * Stops exporting all limiters. The instruments remain, without values: a meter cannot remove
   * them.
   */
  unregister(): void {
    this.#meter.removeBatchObservableCallback(this.#observe, this.#observables);
  }

  #observeAll(result: BatchObservableResult): void {
    for (const [name, reading] of this.readAll()) {
      const attributes = { [NAME]: name };
      for (const { observable, value } of this.#instruments) {
        const found = value(reading);
        // Skip an unlimited rate: JSON OTLP has no infinity.
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
