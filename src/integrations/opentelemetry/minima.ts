import { KeyedTokenBucket } from '../../limiters/keyed-token-bucket.ts';
import type { LimiterHandle, SharedOptions } from '../../limiters/opening.ts';
import { TokenBucket } from '../../limiters/token-bucket.ts';

/** What each operation may keep at least. */
export interface MinimumLimit {
  /** Spans per second. */
  readonly minimum: number;
  /** Spans at once. */
  readonly minimumBurst: number;
}

/** The limit over all operations. */
interface TotalLimit {
  readonly rate: number;
  readonly burst: number;
}

/** Attaches other threads to the minima of a sampler. */
export interface MinimaHandle {
  /** A bucket for each operation. */
  readonly operations: LimiterHandle<'keyed-token-bucket'>;
  /** The bucket from which all minima together take. */
  readonly together: LimiterHandle<'token-bucket'>;
}

/** The part of the limit that the minima of all operations may use together. */
const SHARE = 1 / 2;
/** The most operations of which a thread notes that they have no token. */
const MOST_NOTES = 4096;

function togetherOf({ rate, burst }: TotalLimit): TotalLimit {
  return { rate: rate * SHARE, burst: Math.max(1, burst * SHARE) };
}

function perOperation({ minimum, minimumBurst }: MinimumLimit): TotalLimit {
  return { rate: minimum, burst: minimumBurst };
}

/**
 * A bucket for each operation, from which it keeps spans that the probability drops. All of them
 * together use at most half of the limit, so that new names by the thousand leave room for the rest.
 */
export class Minima {
  readonly #operations: KeyedTokenBucket;
  readonly #together: TokenBucket;
  /** Until when an operation has no token: cheaper to look at than its bucket. */
  readonly #emptyUntilUs = new Map<string, number>();
  /** Until when the limit has none for any of them. */
  #noneUntilUs = Number.NEGATIVE_INFINITY;

  private constructor(operations: KeyedTokenBucket, together: TokenBucket) {
    this.#operations = operations;
    this.#together = together;
  }

  static create(
    limit: MinimumLimit,
    total: TotalLimit,
    capacity: number,
    shared: SharedOptions,
  ): Minima {
    const operations = KeyedTokenBucket.create({ ...perOperation(limit), ...shared, capacity });
    const together = TokenBucket.create({ ...togetherOf(total), ...shared, stats: true });
    return new Minima(operations, together);
  }

  /** @throws HandleError if the handles are not those of such buckets. */
  static attach({ operations, together }: MinimaHandle): Minima {
    return new Minima(KeyedTokenBucket.attach(operations), TokenBucket.attach(together));
  }

  get handle(): MinimaHandle {
    return { operations: this.#operations.handle, together: this.#together.handle };
  }

  get limit(): MinimumLimit {
    return { minimum: this.#operations.rate, minimumBurst: this.#operations.burst };
  }

  /** The spans that were kept by their minimum. */
  get kept(): number {
    return this.#together.stats().admitted;
  }

  /**
   * Takes a token of the operation for a span, and one of the limit. Where there is none, it looks
   * again when one is due, and after `horizonUs` at the latest, since limits may change.
   */
  take(operation: string, nowUs: number, horizonUs: number, limit: TokenBucket): boolean {
    if (nowUs < this.#noneUntilUs || this.#isEmpty(operation, nowUs)) return false;
    const operations = this.#operations;
    if (!operations.tryConsume(operation)) {
      this.#note(operation, due(operations.timeUntil(operation, 1), nowUs, horizonUs));
      return false;
    }
    if (!limit.tryConsume()) {
      operations.returnTokens(operation, 1);
      this.#noneUntilUs = due(limit.timeUntil(1), nowUs, horizonUs);
      return false;
    }
    // The last to be taken, so that its count of tokens is that of spans.
    if (this.#together.tryConsume()) return true;
    limit.returnTokens(1);
    operations.returnTokens(operation, 1);
    this.#noneUntilUs = due(this.#together.timeUntil(1), nowUs, horizonUs);
    return false;
  }

  /** Takes a token of an operation, if it has one, for a span that is kept anyway. */
  charge(operation: string, nowUs: number): void {
    if (!this.#isEmpty(operation, nowUs)) this.#operations.tryConsume(operation);
  }

  #isEmpty(operation: string, nowUs: number): boolean {
    const untilUs = this.#emptyUntilUs.get(operation);
    return untilUs !== undefined && nowUs < untilUs;
  }

  #note(operation: string, untilUs: number): void {
    if (this.#emptyUntilUs.size >= MOST_NOTES) this.#emptyUntilUs.clear();
    this.#emptyUntilUs.set(operation, untilUs);
  }

  /** Looks at every bucket again: limits have changed. */
  forget(): void {
    this.#emptyUntilUs.clear();
    this.#noneUntilUs = Number.NEGATIVE_INFINITY;
  }

  /** Changes the limits in force, for all threads. */
  reconfigure(limit: MinimumLimit, total: TotalLimit): void {
    this.#operations.reconfigure(perOperation(limit));
    this.#together.reconfigure(togetherOf(total));
    this.forget();
  }
}

/** When to look again: a microsecond early, so that no rounding makes it late. */
function due(ms: number, nowUs: number, horizonUs: number): number {
  return nowUs + Math.min(ms * 1000 - 1, horizonUs);
}
