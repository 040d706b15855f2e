import { KeyedTokenBucket } from '../../limiters/keyed-token-bucket.ts';
import type { LimiterHandle, SharedOptions } from '../../limiters/opening.ts';
import { TokenBucket } from '../../limiters/token-bucket.ts';
import { readFields } from '../../memory/handle.ts';

/** The limit over all operations, or the minimum of each. */
export interface SpanLimit {
  /** Spans per second. */
  readonly rate: number;
  /** Spans at once. */
  readonly burst: number;
}

/** The minimum of each operation, and the maximum number of operations. */
export interface MinimumOptions extends SpanLimit {
  readonly capacity: number;
}

/** Attaches other threads to the minima of a sampler. */
export interface MinimaHandle {
  /** A bucket per operation. */
  readonly operations: LimiterHandle<'keyed-token-bucket'>;
  /** The bucket that all minima share. */
  readonly together: LimiterHandle<'token-bucket'>;
}

/** The share of the limit that all minima together may use. */
const SHARE = 1 / 2;
/** The least rate of a bucket. */
const LEAST_RATE = 1e-6;
/** Maximum number of operations that a thread remembers as out of tokens. */
const MOST_NOTES = 4096;

function togetherOf({ rate, burst }: SpanLimit): SpanLimit {
  const share = rate === 0 ? 0 : Math.max(LEAST_RATE, rate * SHARE);
  return { rate: share, burst: Math.max(1, burst * SHARE) };
}

/**
 * A bucket per operation, which keeps spans that the probability would drop. Together they use at
 * most half of the limit, so that thousands of new names leave room for other spans.
 */
export class Minima {
  /** The instant of the next call. As an argument, it would be a heap number for each span. */
  readonly nowUs = new Float64Array(1);
  readonly #operations: KeyedTokenBucket;
  readonly #together: TokenBucket;
  readonly #horizonUs: number;
  /** Until when an operation has no token: cheaper to check than its bucket. */
  readonly #emptyUntilUs = new Map<string, number>();
  /** Until when the limit has no token for any of them. */
  #noneUntilUs = Number.NEGATIVE_INFINITY;

  private constructor(operations: KeyedTokenBucket, together: TokenBucket, horizonUs: number) {
    this.#operations = operations;
    this.#together = together;
    this.#horizonUs = horizonUs;
  }

  /** Buckets are checked again after `horizonUs` at the latest, because limits may change. */
  static create(
    minimum: MinimumOptions,
    total: SpanLimit,
    shared: SharedOptions,
    horizonUs: number,
  ): Minima {
    const operations = KeyedTokenBucket.create({ ...minimum, ...shared });
    const together = TokenBucket.create({ ...togetherOf(total), ...shared, stats: true });
    return new Minima(operations, together, horizonUs);
  }

  /** @throws HandleError if `handle` is invalid. */
  static attach(handle: unknown, horizonUs: number): Minima {
    const names = ['operations', 'together'] as const;
    const { operations, together } = readFields("a sampler's minima", handle, ...names);
    return new Minima(
      KeyedTokenBucket.attach(operations as MinimaHandle['operations']),
      TokenBucket.attach(together as MinimaHandle['together']),
      horizonUs,
    );
  }

  get handle(): MinimaHandle {
    return { operations: this.#operations.handle, together: this.#together.handle };
  }

  get limit(): SpanLimit {
    return { rate: this.#operations.rate, burst: this.#operations.burst };
  }

  /** The number of spans kept by a minimum. */
  get kept(): number {
    return this.#together.stats().admitted;
  }

  /** Takes a token from both the operation and the limit. */
  take(operation: string, limit: TokenBucket): boolean {
    if (this.#us < this.#noneUntilUs || this.#isEmpty(operation)) return false;
    const operations = this.#operations;
    if (!operations.tryConsume(operation)) {
      this.#note(operation, this.#due(operations.timeUntil(operation, 1)));
      return false;
    }
    if (!limit.tryConsume()) {
      operations.returnTokens(operation, 1);
      this.#noneUntilUs = this.#due(limit.timeUntil(1));
      return false;
    }
    // Taken last, so that its token count is the number of kept spans.
    if (this.#together.tryConsume()) return true;
    limit.returnTokens(1);
    operations.returnTokens(operation, 1);
    this.#noneUntilUs = this.#due(this.#together.timeUntil(1));
    return false;
  }

  /** Takes a token from an operation, if it has one, for a span that is kept anyway. */
  charge(operation: string): void {
    if (!this.#isEmpty(operation)) this.#operations.tryConsume(operation);
  }

  get #us(): number {
    return this.nowUs[0] as number; // it has one element
  }

  #isEmpty(operation: string): boolean {
    const untilUs = this.#emptyUntilUs.get(operation);
    return untilUs !== undefined && this.#us < untilUs;
  }

  /** When to check again: a microsecond early, in case of rounding. */
  #due(ms: number): number {
    return this.#us + Math.min(ms * 1000 - 1, this.#horizonUs);
  }

  #note(operation: string, untilUs: number): void {
    if (this.#emptyUntilUs.size >= MOST_NOTES) this.#emptyUntilUs.clear();
    this.#emptyUntilUs.set(operation, untilUs);
  }

  /** Checks every bucket again after a change of limits. */
  forget(): void {
    this.#emptyUntilUs.clear();
    this.#noneUntilUs = Number.NEGATIVE_INFINITY;
  }

  /** Changes the limits for all threads. */
  reconfigure(minimum: SpanLimit, total: SpanLimit): void {
    this.#operations.reconfigure(minimum);
    this.#together.reconfigure(togetherOf(total));
    this.forget();
  }
}
