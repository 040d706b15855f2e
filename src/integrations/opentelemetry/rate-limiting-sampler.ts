import {
  type Context,
  isSpanContextValid,
  ROOT_CONTEXT,
  type Sampler,
  type SamplingResult,
  trace,
} from '@opentelemetry/api';
import { checkAtOnce } from '../../limiters/limiter.ts';
import { shown } from '../../options.ts';
import { attributesOf, DROP, kept, readState, stating } from './results.ts';

/** The limiter of a {@link RateLimitingSampler}: any object with a synchronous `tryConsume`. */
export interface SpanLimiter {
  /** Takes a token for a span and returns true, or returns false to drop the span. */
  tryConsume(): boolean;
  /** The current rate in spans per second, for `sampler.param` and the description. */
  readonly rate?: number;
}

function keep(rate: number | undefined): SamplingResult {
  return kept(attributesOf('ratelimiting', rate));
}

/**
 * Samples the spans that a limiter admits: at most burst + rate x t in any t seconds, over all
 * threads attached to the limiter. Wrap it in the SDK's `ParentBasedSampler`: it then decides for
 * root spans only, and each trace is kept or dropped as a whole.
 *
 * A sampled span carries the attributes of Jaeger's rate-limiting sampler: `sampler.type` is
 * `ratelimiting`, `sampler.param` the current rate. To change the rate for all threads at once,
 * call `reconfigure` on the limiter.
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
   * @param limiter Usually a token bucket. For millions of spans per second, give each thread a
   * lease or use a cheaper clock.
   * @throws TypeError if `limiter` has no `tryConsume`, or answers with promises, as a bucket on a
   * server does.
   */
  constructor(limiter: SpanLimiter) {
    if (typeof limiter?.tryConsume !== 'function') {
      throw new TypeError(`limiter must have a method tryConsume, got ${shown(limiter)}`);
    }
    checkAtOnce('limiter', limiter);
    this.#limiter = limiter;
    this.#rate = limiter.rate;
    this.#kept = keep(this.#rate);
  }

  /**
   * Keeps the span if the limiter has a token for it. Removes the threshold of a parent from the
   * `tracestate`: the span is not kept by its probability.
   */
  shouldSample(context: Context = ROOT_CONTEXT): SamplingResult {
    // Must be `true`: a promise would keep every span.
    if (this.#limiter.tryConsume() !== true) return DROP;
    const { rate } = this.#limiter;
    if (rate !== this.#rate) {
      this.#rate = rate;
      this.#kept = keep(rate);
    }
    const parent = context === ROOT_CONTEXT ? undefined : trace.getSpanContext(context);
    if (parent === undefined || !isSpanContextValid(parent)) return this.#kept;
    return stating(this.#kept, parent.traceState, readState(parent.traceState));
  }

  /** `RateLimitingSampler{100}`, with the current rate, or `RateLimitingSampler` without one. */
  toString(): string {
    const { rate } = this.#limiter;
    return rate === undefined ? 'RateLimitingSampler' : `RateLimitingSampler{${rate}}`;
  }
}
