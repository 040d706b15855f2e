import type { Attributes, TraceState } from '@opentelemetry/api';

/** A composable sampler's part in a decision, as defined by `@opentelemetry/sampler-composite`. */
export interface SamplingIntent {
  /** The rejection threshold, 56 bits; -1 always drops the span. */
  threshold: bigint;
  /** Whether the threshold gives the adjusted count of a kept span. */
  thresholdReliable: boolean;
  /** Attributes to add to the span if it is kept. */
  attributes?: Attributes;
  /** Changes the span's tracestate. */
  updateTraceState?: (traceState: TraceState | undefined) => TraceState | undefined;
}

/** The threshold that keeps every span. */
export const KEEP_ALL = 0n;

/** Drops a span because the limit has no token. */
export const REFUSED_INTENT: SamplingIntent = /* @__PURE__ */ Object.freeze({
  threshold: -1n,
  thresholdReliable: false,
});
