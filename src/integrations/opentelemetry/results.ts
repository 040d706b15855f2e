import {
  type Attributes,
  SamplingDecision,
  type SamplingResult,
  type TraceState,
} from '@opentelemetry/api';
import { type SamplingState, writeState } from './trace-state.ts';

/** Shared by all dropped spans: frozen, because the SDK may keep a result. */
export const DROP: SamplingResult = /* @__PURE__ */ Object.freeze({
  decision: SamplingDecision.NOT_RECORD,
});

/** Shared by all spans that follow a sampled parent and keep its tracestate. */
export const FOLLOWED: SamplingResult = /* @__PURE__ */ Object.freeze({
  decision: SamplingDecision.RECORD_AND_SAMPLED,
});

/** The attributes that Jaeger's samplers set on the spans they keep. */
function attributesOf(type: string, parameter: number | undefined): Attributes {
  return Object.freeze({
    'sampler.type': type,
    ...(parameter === undefined ? {} : { 'sampler.param': parameter }),
  });
}

/** Those of a span kept under a limit. */
export function byLimit(rate: number | undefined): Attributes {
  return attributesOf('ratelimiting', rate);
}

/** Those of a span kept by a probability that does not follow a limit. */
export function byProbability(probability: number): Attributes {
  return attributesOf('probabilistic', probability);
}

/** Those of a span kept by the minimum of its operation. */
export function byMinimum(minimum: number): Attributes {
  return attributesOf('lowerbound', minimum);
}

/** The tracestate of a result, where it differs from the parent's. */
export function changed(
  traceState: TraceState | undefined,
  state: SamplingState,
): Pick<SamplingResult, 'traceState'> {
  const next = writeState(traceState, state);
  return next === undefined ? {} : { traceState: next };
}

/** A kept span, with the threshold that its state names. */
export function kept(
  attributes: Attributes,
  traceState: TraceState | undefined,
  state: SamplingState,
): SamplingResult {
  return Object.freeze({
    decision: SamplingDecision.RECORD_AND_SAMPLED,
    attributes,
    ...changed(traceState, state),
  });
}
