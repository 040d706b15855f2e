import { HandleError } from '../../errors.ts';
import {
  checkSmoothing,
  createArrivalsCell,
  openArrivalsCell,
} from '../../kernel/arrivals/cell.ts';
import { type HostedArrivals, openArrivals } from '../../kernel/arrivals/host.ts';
import { checkOptions, type Known } from '../../known-options.ts';
import type { LimiterHandle } from '../../limiters/opening.ts';
import { TokenBucket } from '../../limiters/token-bucket.ts';
import { nonceOf } from '../../memory/cell.ts';
import type { KernelName } from '../../memory/handle.ts';
import { readFields } from '../../memory/read-fields.ts';
import { Region } from '../../memory/region.ts';
import { memoryOf } from '../../memory/region-memory.ts';
import { checkNumber } from '../../options.ts';
import type { Clock } from '../../time/clock.ts';
import { probabilityOf } from './probability.ts';
import { Threshold } from './threshold.ts';

/** Options of {@link ConsistentRateLimitingSampler.create} that hold for all threads. */
export interface SamplerOptions {
  /** The most spans per second that are kept in the long run, over all threads: 1e-6 to 4e9. */
  readonly rate: number;
  /**
   * The most spans that are kept at once, at least 2: in any t seconds at most burst + rate x t. The
   * smaller it is, the more often the limit refuses spans that are then missing from the counts.
   * Default: `rate`, at least 10.
   */
  readonly burst?: number;
  /**
   * The time constant of the smoothed rate of arrivals, in milliseconds, from 100 to 86,400,000.
   * Default 1000.
   */
  readonly smoothingMs?: number;
  /** The clock to read. Default: the system's monotonic clock. */
  readonly clock?: Clock;
  /** The region to allocate in. Default: a region of its own. */
  readonly region?: Region;
  /** The implementation to use, in all threads. Default: as for limiters. */
  readonly kernel?: KernelName;
}

/** A change of the limit. Fields left out keep their value. */
export type SamplerChange = Partial<Pick<SamplerOptions, 'rate' | 'burst'>>;

/** Attaches other threads to a sampler: a plain value for `workerData` or `postMessage`. */
export interface SamplerHandle {
  /** Always `sampler`. */
  readonly zerotime: 'sampler';
  /** The bucket of the limit, whose memory also holds the rate of arrivals. */
  readonly bucket: LimiterHandle<'token-bucket'>;
  /** Byte offset of the cell that holds the rate of arrivals. */
  readonly offset: number;
  /** A copy of a random number in that cell, to detect stale handles. */
  readonly nonce: number;
}

/** What a sampler does, over all threads. */
export interface SamplerStats {
  /** The smoothed rate at which spans arrive, in spans per second. */
  readonly arrivalsPerSecond: number;
  /** The probability with which the next span would be kept. */
  readonly probability: number;
  /** Spans that the probability would have kept and the limit refused, since the creation. */
  readonly refused: number;
}

export const SAMPLER_OPTIONS: Known<SamplerOptions> = {
  rate: true,
  burst: true,
  smoothingMs: true,
  clock: true,
  region: true,
  kernel: true,
};
const BURST = { min: 2 } as const;
const LEAST_BURST = 10;
/** A thread tells the others of its arrivals this many times in a time constant. */
const REPORTS = 64;

/** The outcome for a span whose randomness reaches the threshold. */
export const REFUSE = 0;
export const KEEP = 1;
/** Kept, but spans before it were refused, so its threshold does not tell what it stands for. */
const KEEP_UNCOUNTED = 2;

/** The shared state of a sampler, as one thread sees it: an exact bucket and a rate of arrivals. */
export class SharedSampling {
  readonly #bucket: TokenBucket;
  readonly #arrivals: HostedArrivals;
  readonly #place: { readonly offset: number; readonly nonce: number };
  readonly #clock: Clock;
  readonly #reportUs: number;
  /** Arrivals at this thread that the others do not know of yet. */
  #arrived = 0;
  #dueUs = Number.NEGATIVE_INFINITY;
  /** The limit as this thread read it last: reading it costs more than a decision. */
  #limit = { rate: 0, burst: 0 };
  #limitDueUs = Number.NEGATIVE_INFINITY;
  /** The threshold in force in this thread. */
  readonly threshold = new Threshold();

  private constructor(
    bucket: TokenBucket,
    arrivals: HostedArrivals,
    offset: number,
    nonce: number,
  ) {
    this.#bucket = bucket;
    this.#arrivals = arrivals;
    this.#place = { offset, nonce };
    this.#clock = bucket.clock;
    this.#reportUs = (arrivals.smoothingMs * 1000) / REPORTS;
  }

  static create(options: SamplerOptions): SharedSampling {
    const { rate, region = Region.over(memoryOf({})), clock, kernel } = options;
    const smoothingMs = checkSmoothing(options.smoothingMs ?? 1000);
    const burst = checkNumber('burst', options.burst ?? Math.max(rate, LEAST_BURST), BURST);
    const shared = clock === undefined ? { region } : { region, clock };
    const bucket = TokenBucket.create({
      ...{ rate, burst, ...shared },
      ...(kernel === undefined ? {} : { kernel }),
    });
    const cell = createArrivalsCell({ originUs: bucket.clock.now(), smoothingMs }, region);
    return new SharedSampling(bucket, openArrivals(cell, kernel), cell.offset, nonceOf(cell));
  }

  /** @throws HandleError if `handle` is not a sampler's, or its memory is damaged. */
  static attach(handle: SamplerHandle): SharedSampling {
    const fields = readFields(
      "a sampler's handle",
      handle,
      'zerotime',
      'bucket',
      'offset',
      'nonce',
    );
    const { zerotime, offset, nonce } = fields;
    if (zerotime !== 'sampler' || !Number.isInteger(offset) || !Number.isInteger(nonce)) {
      throw new HandleError('ERR_HANDLE_INVALID', "not a sampler's handle");
    }
    const bucket = TokenBucket.attach(fields.bucket as SamplerHandle['bucket']);
    const { memory, path, process, kernel } = bucket.handle;
    const region = Region.of(memory, path, process);
    const cell = openArrivalsCell(region, offset as number, nonce as number);
    return new SharedSampling(bucket, openArrivals(cell, kernel), cell.offset, nonceOf(cell));
  }

  get handle(): SamplerHandle {
    return { zerotime: 'sampler', bucket: this.#bucket.handle, ...this.#place };
  }

  /** The limit in force, in spans per second, as of the last renewal at most `#reportUs` ago. */
  get knownRate(): number {
    return this.#limit.rate;
  }

  /** The limit in force, in spans per second. */
  get rate(): number {
    return this.#bucket.rate;
  }

  /** Counts a span that arrives, and looks at the clock whether the threshold is still in force. */
  arrive(): void {
    this.#arrived++;
    const nowUs = this.#clock.now();
    if (nowUs >= this.#dueUs) this.#renew(nowUs);
  }

  /** Takes a token for a span whose randomness reaches the threshold. */
  admit(): number {
    if (this.#bucket.tryConsume()) return this.#arrivals.answer() ? KEEP_UNCOUNTED : KEEP;
    this.#arrivals.refuse();
    return REFUSE;
  }

  /** Puts a new threshold in force, once the old one was reached: the bucket has changed. */
  renew(): void {
    this.#renew(this.#clock.now());
  }

  #renew(nowUs: number): void {
    const perSecond = this.#arrivals.add(nowUs, this.#arrived);
    this.#arrived = 0;
    this.#dueUs = nowUs + this.#reportUs;
    if (nowUs >= this.#limitDueUs) {
      this.#limit = this.#readLimit();
      this.#limitDueUs = this.#dueUs;
    }
    this.threshold.set(this.#probability(this.#limit, perSecond));
  }

  #readLimit(): { readonly rate: number; readonly burst: number } {
    const { rate, burst } = this.#bucket;
    return { rate, burst };
  }

  #probability(limit: { readonly rate: number; readonly burst: number }, perSecond: number) {
    return probabilityOf({ ...limit, balance: this.#bucket.balance(), perSecond });
  }

  stats(): SamplerStats {
    const arrivalsPerSecond = this.#arrivals.perSecond(this.#clock.now());
    const exact = this.#probability(this.#readLimit(), arrivalsPerSecond);
    return {
      arrivalsPerSecond,
      probability: Number.isNaN(exact) ? 0 : exact,
      refused: this.#arrivals.refusals(),
    };
  }

  reconfigure(change: SamplerChange): void {
    const { burst } = checkOptions(change, { rate: true, burst: true }, 'change');
    if (burst !== undefined) checkNumber('burst', burst, BURST);
    this.#bucket.reconfigure(change);
  }
}
