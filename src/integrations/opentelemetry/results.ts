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

/** The attributes that Jaeger's rate-limiting sampler sets on the spans it keeps. */
export function attributesOf(rate: number | undefined): Attributes {
  return Object.freeze({
    'sampler.type': 'ratelimiting',
    ...(rate === undefined ? {} : { 'sampler.param': rate }),
  });
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
  rate: number,
  traceState: TraceState | undefined,
  state: SamplingState,
): SamplingResult {
  return Object.freeze({
    decision: SamplingDecision.RECORD_AND_SAMPLED,
    attributes: attributesOf(rate),
    ...changed(traceState, state),
  });
}
