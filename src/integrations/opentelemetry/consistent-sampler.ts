import { checkOptions, joined } from '../../known-options.ts';
import { checkMade } from '../../options.ts';
import { ConsistentDecisions } from './consistent-decisions.ts';
import {
  CHOICES,
  type ConsistentSamplerOptions,
  SAMPLER_OPTIONS,
  type SamplerChange,
  type SamplerHandle,
  type SamplerOptions,
  type SamplerStats,
} from './sampler-options.ts';
import { SharedSampling } from './shared-sampling.ts';

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
