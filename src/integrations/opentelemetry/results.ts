import {
  type Attributes,
  SamplingDecision,
  type SamplingResult,
  type TraceState,
} from '@opentelemetry/api';
import { type SamplingState, writeState } from './trace-state.ts';

/** The result of all dropped spans. Frozen, because the SDK may keep results. */
export const DROP: SamplingResult = /* @__PURE__ */ Object.freeze({
  decision: SamplingDecision.NOT_RECORD,
});

/** The result of all spans that follow a sampled parent and keep its tracestate. */
export const FOLLOWED: SamplingResult = /* @__PURE__ */ Object.freeze({
  decision: SamplingDecision.RECORD_AND_SAMPLED,
});

/**
 * The attributes that Jaeger's samplers set on spans that they keep: under a limit, by a fixed
 * probability, or by the minimum of an operation.
 */
export function attributesOf(
  type: 'ratelimiting' | 'probabilistic' | 'lowerbound',
  parameter: number | undefined,
): Attributes {
  return Object.freeze({
    'sampler.type': type,
    ...(parameter === undefined ? {} : { 'sampler.param': parameter }),
  });
}

/** The tracestate of a result, if it differs from the parent's. */
export function changed(
  traceState: TraceState | undefined,
  state: SamplingState,
): Pick<SamplingResult, 'traceState'> {
  const next = writeState(traceState, state);
  return next === undefined ? {} : { traceState: next };
}

/** The result of a kept span with this state. */
export function kept(
  attributes: Attributes,
  traceState?: TraceState,
  state: SamplingState = { rest: [] },
): SamplingResult {
  return Object.freeze({
    decision: SamplingDecision.RECORD_AND_SAMPLED,
    attributes,
    ...changed(traceState, state),
  });
}
