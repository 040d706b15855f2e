import type { Attributes, TraceState } from '@opentelemetry/api';

/** A composable sampler's part in a decision, as `@opentelemetry/sampler-composite` defines it. */
export interface SamplingIntent {
  /** The rejection threshold, 56 bits; -1 drops the span whatever its randomness. */
  threshold: bigint;
  /** Whether the threshold tells how many spans a kept one stands for. */
  thresholdReliable: boolean;
  /** Attributes of the span, if it is kept. */
  attributes?: Attributes;
  /** Changes the span's tracestate. */
  updateTraceState?: (traceState: TraceState | undefined) => TraceState | undefined;
}

/** The threshold that keeps every span. */
export const KEEP_ALL = 0n;

/** Drops a span for which the limit has no token. */
export const REFUSED_INTENT: SamplingIntent = /* @__PURE__ */ Object.freeze({
  threshold: -1n,
  thresholdReliable: false,
});
