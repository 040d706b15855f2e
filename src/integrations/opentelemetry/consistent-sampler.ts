import {
  type Context,
  isSpanContextValid,
  type Sampler,
  type SamplingResult,
  type SpanContext,
  TraceFlags,
  trace,
} from '@opentelemetry/api';
import { checkOptions } from '../../known-options.ts';
import { CHOICES, type ConsistentSamplerOptions, choice } from './consistent-options.ts';
import { REFUSED, type SamplingIntent } from './intent.ts';
import { attributesOf, changed, DROP, FOLLOWED, kept } from './results.ts';
import {
  KEEP,
  REFUSE,
  SAMPLER_OPTIONS,
  type SamplerChange,
  type SamplerHandle,
  type SamplerOptions,
  type SamplerStats,
  SharedSampling,
} from './shared-sampling.ts';
import { DIGITS, reaches } from './threshold.ts';
import { readState, type SamplingState } from './trace-state.ts';

/**
 * Keeps at most burst + rate x t spans in any t seconds over all threads, as
 * {@link RateLimitingSampler} does, but by a probability that all threads share, so that the kept
 * spans can be counted: rare operations have the same chance as frequent ones, and each kept span
 * carries the threshold `ot=th:` from which its adjusted count follows.
 *
 * The probability follows the smoothed rate of arrivals and what the bucket holds. Where the limit
 * has to refuse a span nevertheless, the next one that is kept carries no threshold, and
 * {@link ConsistentRateLimitingSampler.stats} counts it as refused.
 *
 * Spans with a parent follow it, so the SDK's `ParentBasedSampler` is not needed. It is also a
 * composable sampler for `createCompositeSampler` of `@opentelemetry/sampler-composite`.
 *
 * @example
 * ```ts
 * import { BasicTracerProvider } from '@opentelemetry/sdk-trace-base';
 * import { ConsistentRateLimitingSampler } from 'zerotime/opentelemetry';
 *
 * const sampler = ConsistentRateLimitingSampler.create({ rate: 100 });
 * const provider = new BasicTracerProvider({ sampler });
 * new Worker(url, { workerData: { traces: sampler.handle } });
 * ```
 */
export class ConsistentRateLimitingSampler implements Sampler {
  readonly #shared: SharedSampling;
  readonly #follows: boolean;
  readonly #isExplicit: boolean;
  /** The result for kept spans without a tracestate, and what it was made for. */
  #kept: SamplingResult | undefined;
  #keptTh: string | undefined;
  #keptRate: number | undefined;
  #unmet: SamplingIntent | undefined;

  private constructor(shared: SharedSampling, options: ConsistentSamplerOptions) {
    this.#shared = shared;
    this.#follows = choice('children', options.children, ['follow', 'decide']) === 'follow';
    this.#isExplicit =
      choice('randomness', options.randomness, ['trace-id', 'explicit']) === 'explicit';
  }

  /**
   * Creates a sampler. Pass its `handle` to the other threads.
   *
   * @throws RangeError, TypeError for an invalid option, naming it.
   * @throws RateLimitError `ERR_REGION_FULL` if `region` has no room.
   */
  static create(options: SamplerOptions & ConsistentSamplerOptions): ConsistentRateLimitingSampler {
    checkOptions(options, { ...SAMPLER_OPTIONS, ...CHOICES });
    return new ConsistentRateLimitingSampler(SharedSampling.create(options), options);
  }

  /**
   * Attaches this thread to the sampler behind a handle.
   *
   * @throws HandleError if `handle` is not a sampler's, or its memory is damaged.
   * @throws RangeError, TypeError for an invalid option, naming it.
   */
  static attach(
    handle: SamplerHandle,
    options: ConsistentSamplerOptions = {},
  ): ConsistentRateLimitingSampler {
    checkOptions(options, CHOICES);
    return new ConsistentRateLimitingSampler(SharedSampling.attach(handle), options);
  }

  /** Send this to another thread and pass it to `attach` there. */
  get handle(): SamplerHandle {
    return this.#shared.handle;
  }

  /** The rate of arrivals, the probability and the refused spans, of all threads together. */
  stats(): SamplerStats {
    return this.#shared.stats();
  }

  /**
   * Changes the limit for all threads at once. `rate: 0` keeps nothing once the burst is used up.
   *
   * @throws RangeError, TypeError for an invalid value, naming it.
   */
  reconfigure(change: SamplerChange): void {
    this.#shared.reconfigure(change);
  }

  /** Decides on a span, as the SDK asks when one starts. */
  shouldSample(context: Context, traceId: string): SamplingResult {
    const parent = trace.getSpanContext(context);
    if (parent === undefined || !isSpanContextValid(parent)) return this.#root(traceId);
    return this.#follows ? this.#followed(parent) : this.#child(parent, traceId);
  }

  #root(traceId: string): SamplingResult {
    const shared = this.#shared;
    if (this.#isExplicit) return this.#explicit();
    shared.arrive();
    if (!shared.threshold.isMet(traceId, traceId.length - DIGITS)) return DROP;
    const { text } = shared.threshold;
    const outcome = shared.admit();
    shared.renew();
    if (outcome === REFUSE) return DROP;
    return this.#keep(outcome === KEEP ? text : undefined);
  }

  /** The result for a kept span of a trace without a tracestate. */
  #keep(th: string | undefined): SamplingResult {
    const { knownRate: rate } = this.#shared;
    if (this.#kept === undefined || th !== this.#keptTh || rate !== this.#keptRate) {
      this.#kept = kept(rate, undefined, { th, rest: [] });
      this.#keptTh = th;
      this.#keptRate = rate;
    }
    return this.#kept;
  }

  #explicit(): SamplingResult {
    const rv = randomDigits();
    return this.#decide(undefined, { rv, rest: [] }, rv, 0);
  }

  #child({ traceState }: SpanContext, traceId: string): SamplingResult {
    const state = readState(traceState);
    return state.rv === undefined
      ? this.#decide(traceState, state, traceId, traceId.length - DIGITS)
      : this.#decide(traceState, state, state.rv, 0);
  }

  /** Decides by randomness, and notes the threshold in the tracestate, or that there is none. */
  #decide(
    traceState: SpanContext['traceState'],
    state: SamplingState,
    randomness: string,
    from: number,
  ): SamplingResult {
    const shared = this.#shared;
    shared.arrive();
    const uncounted = { ...state, th: undefined };
    const { text } = shared.threshold;
    const isMet = shared.threshold.isMet(randomness, from);
    const outcome = isMet ? shared.admit() : REFUSE;
    if (isMet) shared.renew();
    if (outcome === REFUSE) return { ...DROP, ...changed(traceState, uncounted) };
    return kept(
      shared.knownRate,
      traceState,
      outcome === KEEP ? { ...state, th: text } : uncounted,
    );
  }

  /** A span whose parent has been decided on. */
  #followed({ traceFlags, traceState, traceId }: SpanContext): SamplingResult {
    if ((traceFlags & TraceFlags.SAMPLED) === 0) return DROP;
    const state = readState(traceState);
    const { th, rv } = state;
    if (th === undefined) return FOLLOWED;
    const isMet =
      rv === undefined ? reaches(traceId, traceId.length - DIGITS, th) : reaches(rv, 0, th);
    // Erased, as the specification asks: the parent was not kept by the probability that it states.
    return isMet ? FOLLOWED : { ...FOLLOWED, ...changed(traceState, { ...state, th: undefined }) };
  }

  /**
   * This sampler's part in a composite sampler's decision. It always decides by itself: to let
   * children follow, wrap it in `createComposableParentThresholdSampler`. Takes a token if the
   * randomness of the trace reaches the threshold.
   */
  getSamplingIntent(context: Context, traceId: string): SamplingIntent {
    const shared = this.#shared;
    shared.arrive();
    const { rv } = readState(trace.getSpanContext(context)?.traceState);
    const { threshold } = shared;
    const isMet =
      rv === undefined ? threshold.isMet(traceId, traceId.length - DIGITS) : threshold.isMet(rv, 0);
    const { integer } = threshold;
    if (!isMet) {
      if (this.#unmet?.threshold !== integer) {
        this.#unmet = Object.freeze({ threshold: integer, thresholdReliable: true });
      }
      return this.#unmet;
    }
    const outcome = shared.admit();
    shared.renew();
    if (outcome === REFUSE) return REFUSED;
    const attributes = attributesOf(shared.knownRate);
    return { threshold: integer, thresholdReliable: outcome === KEEP, attributes };
  }

  /** `ConsistentRateLimitingSampler{100}`, with the current rate. */
  toString(): string {
    return `ConsistentRateLimitingSampler{${this.#shared.rate}}`;
  }
}

/** 56 random bits: two draws of 28. */
function randomDigits(): string {
  const half = () =>
    Math.floor(Math.random() * 2 ** 28)
      .toString(16)
      .padStart(DIGITS / 2, '0');
  return half() + half();
}
