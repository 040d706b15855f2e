import type { TokenKernel } from '../kernel/bucket/kernel.ts';
import type { Tenure } from '../kernel/bucket/record.ts';
import { checkTokens } from '../options.ts';
import type { BucketCalls } from './bucket-calls.ts';
import type { WaitOptions } from './limiter.ts';
import { checkWait } from './waiting.ts';

/** A stock counts in this fraction of a token, so that its sums are exact. */
const UNITS = 2 ** 30;
/** The sizes that a lease can have; of the largest, a double still counts every unit. */
export const LEASE_SIZE = { min: 1, max: 2 ** 20, integer: true } as const;

/** Options of {@link TokenBucket.lease}. */
export interface LeaseOptions {
  /**
   * The most tokens to take from the bucket at a time: an integer from 1 to 1,048,576. A lease
   * never takes more than half of what the bucket holds, so that others get their share, unless a
   * single call asks for it.
   */
  readonly size: number;
}

/**
 * A thread's private stock of a shared bucket: taken up to `size` tokens at a time and spent without
 * touching shared memory, at a tenth of the price. Made by `bucket.lease({ size })`, by each thread
 * for itself.
 *
 * What lies in stocks was taken before it is spent, so in any interval of t seconds at most
 * burst + rate * t + leases * size tokens are spent. A lease notices when the limit was changed: it
 * puts its stock back into the bucket, which the new burst caps, before it spends on. A thread that
 * is terminated takes its stock with it.
 *
 * A number of tokens `n` may have a fraction, which is rounded up to 2^-30.
 *
 * @example
 * ```ts
 * const bucket = TokenBucket.create({ rate: 1e6, burst: 10_000 });
 * const lease = bucket.lease({ size: 64 });
 * if (lease.tryConsume()) serve();
 * lease.release();
 * ```
 */
export class Lease {
  /** The most tokens that it takes from the bucket at a time. */
  readonly size: number;
  readonly #bucket: BucketCalls;
  readonly #kernel: TokenKernel;
  readonly #tenure: Tenure;
  /** Tokens that one call may take by way of the stock: `size`, or the burst where that is less. */
  #most: number;
  /** In units. */
  #stock = 0;

  /** @internal */
  constructor(bucket: BucketCalls, kernel: TokenKernel, tenure: Tenure, size: number) {
    this.#bucket = bucket;
    this.#kernel = kernel;
    this.#tenure = tenure;
    this.size = size;
    this.#most = Math.min(size, bucket.limit);
  }

  /** Tokens in stock, fractions included. */
  get stock(): number {
    return this.#stock / UNITS;
  }

  /** Takes `n` tokens now, or none: from the stock, and what it lacks from the bucket. */
  tryConsume(n = 1): boolean {
    checkTokens('n', n);
    const cost = Math.ceil(n * UNITS);
    const left = this.#stock - cost;
    if (left < 0 || !this.#tenure.holds) return this.#refill(n, cost);
    this.#stock = left;
    return true;
  }

  #refill(n: number, cost: number): boolean {
    this.#settle();
    if (n > this.#most) {
      this.release();
      return this.#bucket.tryConsume(n);
    }
    if (cost > this.#stock && !this.#take((cost - this.#stock) / UNITS)) return false;
    this.#stock -= cost;
    return true;
  }

  /** Puts the stock back if it was taken under a limit that is no longer in force. */
  #settle(): void {
    if (this.#tenure.holds || this.#tenure.endures) return;
    this.release();
    this.#tenure.renew();
    this.#most = Math.min(this.size, this.#bucket.limit);
  }

  /** Adds to the stock: at least `needed` tokens, or none. */
  #take(needed: number): boolean {
    const kernel = this.#kernel;
    const nowUs = this.#bucket.clock.now();
    // Half of what there is, so that threads that come next find something, however little there is.
    const share = Math.floor(Math.min(this.#most, kernel.balance(nowUs) / 2));
    let taken = Math.max(needed, share);
    if (kernel.acquire(nowUs, taken, 0) !== 0) {
      if (taken === needed || kernel.acquire(nowUs, needed, 0) !== 0) return false;
      taken = needed;
    }
    this.#stock += taken * UNITS;
    return true;
  }

  /**
   * Takes as many whole tokens as there are, at most `n`, and returns how many: from the stock, or,
   * if it has too few, from stock and bucket together.
   */
  consumeOrDrain(n: number): number {
    const whole = Math.floor(checkTokens('n', n));
    if (this.tryConsume(whole)) return whole;
    this.release();
    return this.#bucket.consumeOrDrain(whole);
  }

  /**
   * Resolves when `n` tokens are there. If stock and bucket have too few of them now, the stock goes
   * back and the caller waits on the bucket, in the order of all that wait there.
   *
   * @throws RateLimitError as {@link BucketCalls.wait} does.
   */
  async wait(n = 1, options: WaitOptions = {}): Promise<void> {
    checkTokens('n', n);
    checkWait(options).signal?.throwIfAborted();
    if (this.tryConsume(n)) return;
    this.release();
    await this.#bucket.wait(n, options);
  }

  /**
   * {@link wait}, blocking the thread; false, at once, if it would outlast `timeoutMs`.
   *
   * @throws RateLimitError as {@link BucketCalls.waitSync} does.
   */
  waitSync(n = 1, options: Omit<WaitOptions, 'signal'> = {}): boolean {
    checkTokens('n', n);
    checkWait(options);
    if (this.tryConsume(n)) return true;
    this.release();
    return this.#bucket.waitSync(n, options);
  }

  /** Tokens that this thread can take now, at most the burst: those in stock and in the bucket. */
  available(): number {
    this.#settle();
    return Math.min(this.#bucket.limit, this.stock + this.#bucket.available());
  }

  /**
   * Gives the stock back to the bucket, and returns how many tokens that were. The lease can be used
   * on: it then takes anew.
   */
  release(): number {
    const { stock } = this;
    this.#stock = 0;
    if (stock > 0) this.#bucket.returnTokens(stock);
    return stock;
  }

  /** {@link release}, for `using`. Node has the symbol from version 20.4 on. */
  [Symbol.dispose](): void {
    this.release();
  }
}
