import {
  type Attributes,
  type Context,
  isSpanContextValid,
  ROOT_CONTEXT,
  type Sampler,
  type SamplingResult,
  type SpanContext,
  SpanKind,
  TraceFlags,
  type TraceState,
  trace,
} from '@opentelemetry/api';
import { checkOptions, joined } from '../../known-options.ts';
import { checkMade } from '../../options.ts';
import {
  changed,
  DIGITS,
  DROP,
  FOLLOWED,
  integerOf,
  kept,
  reaches,
  readState,
  type SamplingState,
  stating,
} from './results.ts';
import {
  CHOICES,
  type ConsistentSamplerOptions,
  choicesOf,
  type OperationOf,
  SAMPLER_OPTIONS,
  type SamplerChange,
  type SamplerHandle,
  type SamplerOptions,
  type SamplerStats,
} from './sampler-options.ts';
import { COUNTED, REFUSED, SharedSampling, UNMET } from './shared-sampling.ts';

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
const KEEP_ALL = 0n;

/** Drops a span because the limit has no token. */
const REFUSED_INTENT: SamplingIntent = /* @__PURE__ */ Object.freeze({
  threshold: -1n,
  thresholdReliable: false,
});

const NO_ATTRIBUTES: Attributes = /* @__PURE__ */ Object.freeze({});

/** Where all operations share one limit. */
const anyOperation: OperationOf = () => '';

/**
 * Decides as defined by OpenTelemetry's probability sampling: compares the trace's randomness with
 * a threshold, and records the threshold in the tracestate of kept spans.
 */
export abstract class ConsistentDecisions implements Sampler {
  readonly #sampling: SharedSampling;
  readonly #follows: boolean;
  readonly #isExplicit: boolean;
  readonly #operationOf: OperationOf;
  /** Cached result for kept spans without a tracestate, and its inputs. */
  #kept: SamplingResult | undefined;
  #keptTh: string | undefined;
  #unmet: SamplingIntent | undefined;

  /** @internal */
  protected constructor(sampling: SharedSampling, options: ConsistentSamplerOptions) {
    this.#sampling = sampling;
    const { follows, isExplicit, operationOf } = choicesOf(options);
    this.#follows = follows;
    this.#isExplicit = isExplicit;
    this.#operationOf = sampling.isPerOperation ? operationOf : anyOperation;
  }

  /** Decides on a span. The SDK calls this when a span starts. */
  shouldSample(
    context: Context,
    traceId: string,
    spanName = '',
    spanKind: SpanKind = SpanKind.INTERNAL,
    attributes: Attributes = NO_ATTRIBUTES,
  ): SamplingResult {
    // Most root spans have no context, and a lookup costs a fifth of the time to drop a span.
    const parent = context === ROOT_CONTEXT ? undefined : trace.getSpanContext(context);
    const isRoot = parent === undefined || !isSpanContextValid(parent);
    if (!isRoot && this.#follows) return followed(parent);
    const operation = this.#operationOf(context, spanName, spanKind, attributes);
    if (isRoot && !this.#isExplicit) return this.#root(traceId, operation);
    const traceState = isRoot ? undefined : parent.traceState;
    const state: SamplingState = isRoot ? { rv: randomDigits(), rest: [] } : readState(traceState);
    const sampling = this.#sampling;
    // Records in the tracestate the threshold or its absence.
    if (sampling.decide(state.rv ?? traceId, operation) < COUNTED) {
      return { ...DROP, ...changed(traceState, { ...state, th: undefined }) };
    }
    return kept(sampling.attributes, traceState, { ...state, th: sampling.th });
  }

  #root(traceId: string, operation: string): SamplingResult {
    const sampling = this.#sampling;
    if (sampling.decide(traceId, operation) < COUNTED) return DROP;
    const { th, attributes } = sampling;
    if (this.#kept?.attributes !== attributes || th !== this.#keptTh) {
      this.#kept = kept(attributes, undefined, { th, rest: [] });
      this.#keptTh = th;
    }
    return this.#kept;
  }

  /**
   * This sampler's part in a composite sampler's decision. Ignores the parent: to make children
   * follow it, wrap the sampler in `createComposableParentThresholdSampler`. Takes a token if the
   * trace's randomness reaches the threshold.
   */
  getSamplingIntent(
    context: Context,
    traceId: string,
    spanName = '',
    spanKind: SpanKind = SpanKind.INTERNAL,
    attributes: Attributes = NO_ATTRIBUTES,
  ): SamplingIntent {
    const sampling = this.#sampling;
    const operation = this.#operationOf(context, spanName, spanKind, attributes);
    const { rv } = readState(trace.getSpanContext(context)?.traceState);
    const verdict = sampling.decide(rv ?? traceId, operation);
    if (verdict === REFUSED) return REFUSED_INTENT;
    if (verdict === UNMET) return this.#unmetIntent(integerOf(sampling.unmet.text));
    const { th } = sampling;
    // The composite may compare an unreliable threshold with other randomness: make it keep the
    // span.
    const threshold = th === undefined ? KEEP_ALL : integerOf(th);
    return {
      threshold,
      thresholdReliable: th !== undefined,
      attributes: sampling.attributes,
    };
  }

  /** Reuses one object for all spans dropped at a threshold. */
  #unmetIntent(threshold: bigint): SamplingIntent {
    if (this.#unmet?.threshold !== threshold) {
      this.#unmet = Object.freeze({ threshold, thresholdReliable: true });
    }
    return this.#unmet;
  }
}

/** The result for a span that follows its parent. */
function followed({ traceFlags, traceState, traceId }: SpanContext): SamplingResult {
  if ((traceFlags & TraceFlags.SAMPLED) === 0) return DROP;
  const state = readState(traceState);
  const { th, rv } = state;
  // Otherwise erased, as the specification requires: the parent was not kept by the probability that
  // it states.
  const isConsistent = th !== undefined && reaches(rv ?? traceId, th);
  return stating(FOLLOWED, traceState, state, isConsistent ? th : undefined);
}

/** 56 random bits, from two draws of 28. */
function randomDigits(): string {
  const half = () =>
    Math.floor(Math.random() * 2 ** 28)
      .toString(16)
      .padStart(DIGITS / 2, '0');
  return half() + half();
}

const OPTIONS = /* @__PURE__ */ joined(SAMPLER_OPTIONS, CHOICES);

/**
 * Keeps at most burst + rate x t spans in any t seconds over all threads, like
 * {@link RateLimitingSampler}, but selects them by a shared probability. Rare operations therefore
 * have the same chance as frequent ones, and each kept span carries the threshold `ot=th:`, which
 * gives its adjusted count.
 *
 * The probability follows the smoothed arrival rate and the tokens in the bucket. If the limit
 * still refuses a span, the next kept span carries no threshold, and
 * {@link ConsistentRateLimitingSampler.stats} counts the refused one.
 *
 * With a `minimum`, each operation keeps at least this many spans per second, within the same
 * limit. Spans kept only by their minimum carry no threshold, so the sum of adjusted counts stays
 * correct.
 *
 * Spans with a parent follow it, so the SDK's `ParentBasedSampler` is not needed. It is also a
 * composable sampler for `createCompositeSampler` of `@opentelemetry/sampler-composite`.
 *
 * @example
 * ```ts
 * import { BasicTracerProvider } from '@opentelemetry/sdk-trace-base';
 * import { ConsistentRateLimitingSampler } from 'zerotime/opentelemetry';
 *
 * const sampler = ConsistentRateLimitingSampler.create({ rate: 100, minimum: 1 });
 * const provider = new BasicTracerProvider({ sampler });
 * new Worker(url, { workerData: { traces: sampler.handle } });
 * ```
 */
export class ConsistentRateLimitingSampler extends ConsistentDecisions {
  readonly #shared: SharedSampling;

  private constructor(shared: SharedSampling, options: ConsistentSamplerOptions) {
    super(checkMade(new.target, shared, 'unmet'), options);
    this.#shared = shared;
  }

  /**
   * Creates a sampler. Pass its `handle` to the other threads.
   *
   * @throws RangeError, TypeError for an invalid option.
   * @throws RateLimitError `ERR_REGION_FULL` if `region` has no room.
   */
  static create(options: SamplerOptions & ConsistentSamplerOptions): ConsistentRateLimitingSampler {
    checkOptions(options, OPTIONS);
    choicesOf(options); // throws before the region gives room
    return new ConsistentRateLimitingSampler(SharedSampling.create(options), options);
  }

  /**
   * Attaches this thread to the sampler behind a handle.
   *
   * @throws HandleError if `handle` is not a sampler's, or its memory is damaged.
   * @throws RangeError, TypeError for an invalid option.
   */
  static attach(
    handle: SamplerHandle,
    options: ConsistentSamplerOptions = {},
  ): ConsistentRateLimitingSampler {
    checkOptions(options, CHOICES);
    return new ConsistentRateLimitingSampler(SharedSampling.attach(handle), options);
  }

  /** A handle to send to other threads, for `attach`. */
  get handle(): SamplerHandle {
    return this.#shared.handle;
  }

  /** The arrival rate, the probability, and counts of spans, over all threads. */
  stats(): SamplerStats {
    return this.#shared.stats();
  }

  /**
   * Changes the limit and the minimum for all threads at once. With `rate: 0`, nothing is kept once
   * the burst is used up. Threads update their probability within 1/64 of `smoothingMs`.
   *
   * @throws RangeError, TypeError for an invalid value.
   */
  reconfigure(change: SamplerChange): void {
    this.#shared.reconfigure(change);
  }

  /** `ConsistentRateLimitingSampler{100}`, with the current rate. */
  override toString(): string {
    return `ConsistentRateLimitingSampler{${this.#shared.rate}}`;
  }
}
