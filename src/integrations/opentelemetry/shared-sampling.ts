import type { Attributes } from '@opentelemetry/api';
import { HandleError } from '../../errors.ts';
import {
  checkSmoothing,
  createArrivalsCell,
  type HostedArrivals,
  openArrivals,
  openArrivalsCell,
} from '../../kernel/arrivals/host.ts';
import { given } from '../../known-options.ts';
import { TokenBucket } from '../../limiters/token-bucket.ts';
import { type CellPlace, nonceOf } from '../../memory/cell.ts';
import { readFields } from '../../memory/handle.ts';
import { Region } from '../../memory/region.ts';
import { memoryOf } from '../../memory/shared-memory.ts';
import type { Clock } from '../../time/clock.ts';
import { Minima, type SpanLimit } from './minima.ts';
import { attributesOf, Threshold } from './results.ts';
import {
  burstOf,
  checkChange,
  minimumOf,
  type SamplerChange,
  type SamplerHandle,
  type SamplerOptions,
  type SamplerStats,
} from './sampler-options.ts';

// Verdicts on a span.

/** Its randomness does not reach the threshold. */
export const UNMET = 0;
/** Dropped regardless of its randomness: the limit has no token, or its probability is 0. */
export const REFUSED = 1;
/** Kept by its randomness: the threshold gives its adjusted count. */
export const COUNTED = 2;
/** Kept without an adjusted count. */
const UNCOUNTED = 3;

/** The sampling probability of an operation. */
export interface Chance {
  readonly threshold: Threshold;
  /** Attributes of kept spans; undefined: those of the limit. */
  readonly attributes: Attributes | undefined;
}

/** Per-operation probabilities. The lower of this and the limit's probability applies. */
export interface Policy {
  /** Whether the policy has changed since the last call. */
  hasChanged(): boolean;
  /** The probability of an operation; undefined if it is 0. */
  chanceOf(operation: string): Chance | undefined;
  /** Whether operations have a minimum. */
  readonly hasMinima: boolean;
}

/** The inputs of a probability. */
interface Measured extends SpanLimit {
  /** Tokens in the bucket. */
  readonly balance: number;
  /** The arrival rate. */
  readonly perSecond: number;
}

/** The minimum share of the rate to aim at while there are tokens. */
const LEAST_SHARE = 1 / 128;

/**
 * The probability of keeping the next span that holds the bucket half full: rate divided by
 * arrivals, lower if the bucket is emptier and higher if it is fuller. This corrects for the delay
 * of the smoothed rate after a jump. The next span's randomness has no influence, so adjusted
 * counts are unbiased.
 */
export function probabilityOf({ rate, burst, balance, perSecond }: Measured): number {
  const room = Math.max(0, burst - balance);
  // With less than a token, every span is refused. Aim at the rate, so that refusals are counted.
  const share = balance < 1 ? 1 : Math.max(balance - 1, LEAST_SHARE * room) / room;
  return Math.min(1, (rate * share) / perSecond);
}

/** How often a thread reports its arrivals to the others, per time constant. */
const REPORTS = 64;

function reportUs({ smoothingMs }: HostedArrivals): number {
  return (smoothingMs * 1000) / REPORTS;
}

/**
 * One thread's view of a sampler's shared state: an exact bucket, an arrival rate, and the minima
 * of operations. After a verdict, its threshold and attributes are in the fields.
 */
export class SharedSampling {
  readonly #bucket: TokenBucket;
  readonly #arrivals: HostedArrivals;
  readonly #cell: CellPlace;
  readonly #minima: Minima | undefined;
  readonly #policy: Policy | undefined;
  readonly #clock: Clock;
  readonly #reportUs: number;
  /** Arrivals at this thread that have not been reported yet. */
  #arrived = 0;
  #dueUs = Number.NEGATIVE_INFINITY;
  /** This thread's copy of the limit: reading the limit costs more than a decision. */
  #limit: SpanLimit = { rate: 0, burst: 0 };
  #limitDueUs = Number.NEGATIVE_INFINITY;
  /** The limit's threshold in this thread. */
  readonly #threshold = new Threshold();
  #attributes: Attributes = attributesOf('ratelimiting', 0);
  /** Whether decisions depend on the operation. */
  readonly isPerOperation: boolean;
  /** The threshold that the last span did not reach. */
  unmet = this.#threshold;
  /** Of the span kept last: its threshold, if counted, and its attributes. */
  th: string | undefined;
  attributes = this.#attributes;

  private constructor(
    bucket: TokenBucket,
    arrivals: HostedArrivals,
    cell: CellPlace,
    minima: Minima | undefined,
    policy: Policy | undefined,
  ) {
    this.#bucket = bucket;
    this.#arrivals = arrivals;
    this.#cell = cell;
    this.#minima = minima;
    this.#policy = policy;
    this.isPerOperation = minima !== undefined || policy !== undefined;
    this.#clock = bucket.clock;
    this.#reportUs = reportUs(arrivals);
  }

  static create(options: SamplerOptions, policy?: Policy): SharedSampling {
    const { rate, region = Region.over(memoryOf({})), clock, kernel } = options;
    const { smoothingMs: smoothing = 1000 } = options;
    const smoothingMs = checkSmoothing(smoothing);
    const limit = { rate, burst: burstOf(rate, options.burst) };
    const minimum = minimumOf(options);
    const where = { clock, kernel } as Pick<SamplerOptions, 'clock' | 'kernel'>;
    const chosen = given(where, { clock: true, kernel: true });
    const bucket = TokenBucket.create({ ...limit, ...chosen, region });
    const cell = createArrivalsCell({ originUs: bucket.clock.now(), smoothingMs }, region);
    const shared = options.region === undefined ? chosen : { ...chosen, region };
    const arrivals = openArrivals(cell, kernel);
    const minima = minimum && Minima.create(minimum, limit, shared, reportUs(arrivals));
    return new SharedSampling(bucket, arrivals, cell, minima, policy);
  }

  /** @throws HandleError if `handle` is not a sampler's, or its memory is damaged. */
  static attach(handle: SamplerHandle, policy?: Policy): SharedSampling {
    const names = ['zerotime', 'bucket', 'offset', 'nonce', 'minima'] as const;
    const fields = readFields("a sampler's handle", handle, ...names);
    const { zerotime, offset, nonce } = fields;
    if (zerotime !== 'sampler' || !Number.isInteger(offset) || !Number.isInteger(nonce)) {
      throw new HandleError('ERR_HANDLE_INVALID', "not a sampler's handle");
    }
    const bucket = TokenBucket.attach(fields.bucket as SamplerHandle['bucket']);
    const { memory, path, process, kernel } = bucket.handle;
    const region = Region.of(memory, path, process);
    const cell = openArrivalsCell(region, offset as number, nonce as number);
    const arrivals = openArrivals(cell, kernel);
    const minima =
      fields.minima === undefined ? undefined : Minima.attach(fields.minima, reportUs(arrivals));
    return new SharedSampling(bucket, arrivals, cell, minima, policy);
  }

  get handle(): SamplerHandle {
    const cell = { offset: this.#cell.offset, nonce: nonceOf(this.#cell) };
    const minima = this.#minima && { minima: this.#minima.handle };
    return { zerotime: 'sampler', bucket: this.#bucket.handle, ...cell, ...minima };
  }

  /** The limit in force, in spans per second. */
  get rate(): number {
    return this.#bucket.rate;
  }

  /**
   * Decides on an arriving span by its randomness, the last 14 hexadecimal digits of `text`. Reads
   * the clock to check whether the threshold is still in force.
   */
  decide(text: string, operation: string): number {
    const policy = this.#policy;
    if (policy?.hasChanged()) this.#forget();
    this.#arrived++;
    const nowUs = this.#clock.now();
    if (nowUs >= this.#dueUs) this.#renew(nowUs);
    if (this.#minima !== undefined) this.#minima.nowUs[0] = nowUs;
    let threshold = this.#threshold;
    let attributes: Attributes | undefined;
    if (policy !== undefined) {
      const chance = policy.chanceOf(operation);
      if (chance === undefined) return this.#atLeast(operation, REFUSED);
      if (chance.threshold.probability <= threshold.probability) {
        ({ threshold, attributes } = chance);
      }
    }
    if (threshold.isMet(text)) return this.#admit(threshold, attributes, operation);
    this.unmet = threshold;
    return this.#atLeast(operation, UNMET);
  }

  /** Takes a token for a span that reaches the threshold. */
  #admit(threshold: Threshold, attributes: Attributes | undefined, operation: string): number {
    const isAdmitted = this.#bucket.tryConsume();
    if (isAdmitted) {
      this.th = this.#arrivals.answer() ? undefined : threshold.text;
      this.#minima?.charge(operation);
    } else {
      this.#arrivals.refuse();
    }
    // The bucket has changed, so renew the threshold.
    this.#renew(this.#clock.now());
    if (!isAdmitted) return REFUSED;
    this.attributes = attributes ?? this.#attributes;
    return this.th === undefined ? UNCOUNTED : COUNTED;
  }

  /** Keeps a span that would be dropped if its operation is below its minimum. */
  #atLeast(operation: string, otherwise: number): number {
    const minima = this.#minima;
    if (minima === undefined || this.#policy?.hasMinima === false) return otherwise;
    if (!minima.take(operation, this.#bucket)) return otherwise;
    this.#renew(this.#clock.now());
    this.th = undefined;
    this.attributes = attributesOf('lowerbound', minima.limit.rate);
    return UNCOUNTED;
  }

  #renew(nowUs: number): void {
    const perSecond = this.#arrivals.add(nowUs, this.#arrived);
    this.#arrived = 0;
    this.#dueUs = nowUs + this.#reportUs;
    if (nowUs >= this.#limitDueUs) {
      const limit = this.#readLimit();
      const isSame = limit.rate === this.#limit.rate;
      if (!isSame) this.#attributes = attributesOf('ratelimiting', limit.rate);
      this.#limit = limit;
      this.#limitDueUs = this.#dueUs;
    }
    this.#threshold.set(this.#probability(this.#limit, perSecond));
  }

  /** Reads all limits again before the next decision. */
  #forget(): void {
    this.#dueUs = Number.NEGATIVE_INFINITY;
    this.#limitDueUs = Number.NEGATIVE_INFINITY;
    this.#minima?.forget();
  }

  #readLimit(): SpanLimit {
    const { rate, burst } = this.#bucket;
    return { rate, burst };
  }

  #probability(limit: SpanLimit, perSecond: number) {
    return probabilityOf({ ...limit, balance: this.#bucket.balance(), perSecond });
  }

  stats(): SamplerStats {
    const arrivalsPerSecond = this.#arrivals.perSecond(this.#clock.now());
    const exact = this.#probability(this.#readLimit(), arrivalsPerSecond);
    return {
      arrivalsPerSecond,
      probability: Number.isNaN(exact) ? 0 : exact,
      refused: this.#arrivals.refusals(),
      keptByMinimum: this.#minima?.kept ?? 0,
    };
  }

  reconfigure(change: SamplerChange): void {
    const { limit, minimum } = checkChange(change, this.#minima?.limit);
    this.#bucket.reconfigure(limit);
    if (minimum !== undefined) this.#minima?.reconfigure(minimum, this.#readLimit());
    this.#forget();
  }
}
