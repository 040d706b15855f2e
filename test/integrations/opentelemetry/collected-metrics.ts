import { AggregationTemporality, MeterProvider, MetricReader } from '@opentelemetry/sdk-metrics';
import { expect } from 'vitest';
import { ManualClock } from '../../../src/index.ts';
import { LimiterMetrics } from '../../../src/integrations/opentelemetry/metrics.ts';

/** Collects when it is asked to. */
class OnDemandReader extends MetricReader {
  protected override async onForceFlush(): Promise<void> {}
  protected override async onShutdown(): Promise<void> {}
}

/** Metrics of a meter that are collected on demand, and a clock for their limiters. */
export function scene(temporality = AggregationTemporality.CUMULATIVE) {
  const reader = new OnDemandReader({ aggregationTemporalitySelector: () => temporality });
  const provider = new MeterProvider({ readers: [reader] });
  const metrics = new LimiterMetrics({ meter: provider.getMeter('zerotime') });
  const collect = async () => {
    const { resourceMetrics, errors } = await reader.collect();
    expect(errors).toEqual([]);
    return resourceMetrics.scopeMetrics.flatMap((scope) => scope.metrics);
  };
  /** The values of one limiter by the name of their metric, without `zerotime.`. */
  const valuesOf = async (limiter: string) => {
    const values: Record<string, unknown> = {};
    for (const { descriptor, dataPoints } of await collect()) {
      for (const { attributes, value } of dataPoints) {
        expect(Object.keys(attributes)).toEqual(['zerotime.limiter.name']);
        if (attributes['zerotime.limiter.name'] !== limiter) continue;
        values[descriptor.name.replace(/^zerotime\./, '')] = value;
      }
    }
    return values;
  };
  return { metrics, collect, valuesOf, clock: ManualClock.create() };
}
