// An entry point of its own, `zerotime/opentelemetry`. It needs the API package alone, which every
// version of the SDK shares: its samplers are not tied to one SDK.
import { type Sampler, SamplingDecision, type SamplingResult } from '@opentelemetry/api';
import { shown } from '../options.ts';

/** What {@link RateLimitingSampler} asks: a limiter, a lease, anything that says yes or no at once. */
export interface SpanLimiter {
  /** Takes a token for a span, or none: then the span is dropped. */
  tryConsume(): boolean;
  /** The rate in force, in spans per second: `sampler.param` and the description tell it. */
  readonly rate?: number;
}

/** Caches of the SDK may hold on to a result, and none may change it. */
const DROP: SamplingResult = Object.freeze({ decision: SamplingDecision.NOT_RECORD });

function keep(rate: number | undefined): SamplingResult {
  return Object.freeze({
    decision: SamplingDecision.RECORD_AND_SAMPLED,
    attributes: Object.freeze({
      'sampler.type': 'ratelimiting',
      ...(rate === undefined ? {} : { 'sampler.param': rate }),
    }),
  });
}

/**
 * Samples as many spans as a limiter admits: at most burst + rate x t in any t seconds, over all
 * threads that attach to the limiter. Put it into the SDK's `ParentBasedSampler`, so that it is asked
 * for root spans alone and every trace is kept or dropped as a whole.
 *
 * A span that is sampled carries `sampler.type`, `ratelimiting`, and `sampler.param`, the rate in
 * force, as those of Jaeger do. To change the rate of all threads at once, `reconfigure` the limiter.
 *
 * @example
 * ```ts
 * import { BasicTracerProvider, ParentBasedSampler } from '@opentelemetry/sdk-trace-base';
 * import { RateLimitingSampler } from 'zerotime/opentelemetry';
 *
 * const root = new RateLimitingSampler(TokenBucket.attach(workerData.traces));
 * const provider = new BasicTracerProvider({ sampler: new ParentBasedSampler({ root }) });
 * ```
 */
export class RateLimitingSampler implements Sampler {
  readonly #limiter: SpanLimiter;
  #rate: number | undefined;
  #kept: SamplingResult;

  /**
   * @param limiter Most often a token bucket. For millions of spans a second give each thread a lease
   * on it, or let the bucket read a cheaper clock.
   * @throws TypeError if it has no `tryConsume`.
   */
  constructor(limiter: SpanLimiter) {
    if (typeof limiter?.tryConsume !== 'function') {
      throw new TypeError(`limiter must have a method tryConsume, got ${shown(limiter)}`);
    }
    this.#limiter = limiter;
    this.#rate = limiter.rate;
    this.#kept = keep(this.#rate);
  }

  /** Takes a token, and keeps the span if there was one. */
  shouldSample(): SamplingResult {
    if (!this.#limiter.tryConsume()) return DROP;
    const { rate } = this.#limiter;
    if (rate !== this.#rate) {
      this.#rate = rate;
      this.#kept = keep(rate);
    }
    return this.#kept;
  }

  /** `RateLimitingSampler{100}`, with the rate in force; `RateLimitingSampler` if it is not known. */
  toString(): string {
    const { rate } = this.#limiter;
    return rate === undefined ? 'RateLimitingSampler' : `RateLimitingSampler{${rate}}`;
  }
}
