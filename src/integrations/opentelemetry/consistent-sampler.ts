import { checkOptions, joined } from '../../known-options.ts';
import { ConsistentDecisions } from './consistent-decisions.ts';
import { CHOICES, type ConsistentSamplerOptions } from './consistent-options.ts';
import {
  SAMPLER_OPTIONS,
  type SamplerChange,
  type SamplerHandle,
  type SamplerOptions,
  type SamplerStats,
} from './sampler-options.ts';
import { SharedSampling } from './shared-sampling.ts';

const OPTIONS = /* @__PURE__ */ joined(SAMPLER_OPTIONS, CHOICES);

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
 * With a `minimum`, each operation keeps that many spans per second at least, within the same limit.
 * Spans that are kept only by their minimum carry no threshold: they add nothing to the sum of
 * adjusted counts, which stays right.
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
    super(shared, options);
    this.#shared = shared;
  }

  /**
   * Creates a sampler. Pass its `handle` to the other threads.
   *
   * @throws RangeError, TypeError for an invalid option, naming it.
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

  /**
   * The rate of arrivals, the probability, the refused spans, and those kept by a minimum, of all
   * threads together.
   */
  stats(): SamplerStats {
    return this.#shared.stats();
  }

  /**
   * Changes the limit and the minimum for all threads at once. `rate: 0` keeps nothing once the
   * burst is used up. Threads compute their probability anew within 1/64 of `smoothingMs`.
   *
   * @throws RangeError, TypeError for an invalid value, naming it.
   */
  reconfigure(change: SamplerChange): void {
    this.#shared.reconfigure(change);
  }

  /** `ConsistentRateLimitingSampler{100}`, with the current rate. */
  override toString(): string {
    return `ConsistentRateLimitingSampler{${this.#shared.rate}}`;
  }
}
