import { type Attributes, SamplingDecision, type SamplingResult } from '@opentelemetry/api';

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
