import type { BucketKernel, LimitEpoch } from '../kernel/bucket/kernel.ts';
import { checkOptions } from '../known-options.ts';
import { checkMade, checkNumber, checkTokens } from '../options.ts';
import type { BucketCalls } from './bucket-calls.ts';
import type { BlockingWaitOptions, Waited, WaitOptions } from './limiter.ts';
import { refused } from './refused.ts';
import { Described, type Description } from './state.ts';
import { AT_ONCE, BLOCKING_WAIT, checkWait } from './waiting.ts';

/** A lease counts in units of 2^-30 token, so that its sums are exact. */
const UNITS = 2 ** 30;
/** The range of `size`; a double counts every unit of the largest one exactly. */
const LEASE_SIZE = { min: 1, max: 2 ** 20, integer: true } as const;

/** Options of {@link TokenBucket.lease}. */
export interface LeaseOptions {
  /**
   * Maximum number of tokens to take from the bucket at a time: an integer from 1 to 1,048,576. A
   * lease leaves at least half of the tokens in the bucket to other threads, unless a single call
   * needs more.
   */
  readonly size: number;
}

/**
 * A private stock of tokens for one thread. A lease takes up to `size` tokens from the shared
 * bucket at a time and spends them without touching shared memory, at a tenth of the cost. Each
 * thread creates its own with `bucket.lease({ size })`.
 *
 * Stocked tokens are spent later than they were taken, so in any interval of t seconds at most
 * burst + rate * t + leases * size tokens are spent. When the limit changes, a lease returns its
 * stock to the bucket before it continues, so the new burst applies. A terminated thread's stock is
 * lost.
 *
 * `n` may be fractional and is rounded up to a multiple of 2^-30.
 *
 * @example
 * ```ts
 * const bucket = TokenBucket.create({ rate: 1e6, burst: 10_000 });
 * const lease = bucket.lease({ size: 64 });
 * if (lease.tryConsume()) serve();
 * lease.release();
 * ```
 */
export class Lease extends Described {
  /** Maximum number of tokens to take from the bucket at a time. */
  readonly size: number;
  readonly #bucket: BucketCalls;
  readonly #kernel: BucketKernel;
  readonly #epoch: LimitEpoch;
  /** Calls that cost more bypass the stock: `size` or the burst, whichever is less. */
  #most: number;
  /** In units. */
  #stock = 0;
  /** The bucket refused the last refill, so the next one asks only for what it needs. */
  #isShort = false;

  /** @internal */
  constructor(bucket: BucketCalls, kernel: BucketKernel, options: LeaseOptions) {
    super();
    this.#bucket = checkMade(new.target, bucket, 'limit', 'bucket.lease({ size })');
    const { size } = checkOptions(options, { size: true });
    this.#kernel = kernel;
    this.#epoch = kernel.epoch();
    this.size = checkNumber('size', size, LEASE_SIZE);
    this.#most = Math.min(size, bucket.limit);
  }

  /** @internal */
  protected describe(): Description {
    return ['Lease', { size: this.size, stock: this.stock, of: `${this.#bucket}` }];
  }

  /** The tokens in stock, fractions included. */
  get stock(): number {
    return this.#stock / UNITS;
  }

  /** Takes `n` tokens now, or none: from the stock, refilled from the bucket if it is too small. */
  tryConsume(n = 1): boolean {
    checkTokens('n', n);
    return this.#try(n) || refused(this.#bucket, n);
  }

  /** {@link tryConsume}; a refusal is not yet the answer of a call. */
  #try(n: number): boolean {
    const cost = Math.ceil(n * UNITS);
    const left = this.#stock - cost;
    if (left < 0 || !this.#epoch.holds) return this.#refill(n, cost);
    this.#stock = left;
    return true;
  }

  #refill(n: number, cost: number): boolean {
    this.#settle();
    // Rounded up, even a call for the whole burst could cost more than the bucket ever holds.
    if (cost > this.#most * UNITS) {
      if (this.#owes()) return false;
      this.release();
      return this.#bucket.take(n);
    }
    if (cost > this.#stock && !this.#take((cost - this.#stock) / UNITS)) return false;
    this.#stock -= cost;
    return true;
  }

  /** Whether the bucket is in debt: it would keep what is returned to it, and has nothing to take. */
  #owes(): boolean {
    return this.#bucket.balance() < 0;
  }

  /** Returns the stock if the limit has changed since it was taken. */
  #settle(): void {
    if (this.#epoch.holds || this.#epoch.endures()) return;
    this.release();
    this.#epoch.renew();
    this.#most = Math.min(this.size, this.#bucket.limit);
  }

  /** Adds at least `needed` tokens to the stock, or none. */
  #take(needed: number): boolean {
    const kernel = this.#kernel;
    const nowUs = this.#bucket.clock.now();
    if (!this.#isShort) {
      // At most half of the balance, so that other threads find tokens when few are left.
      const share = Math.floor(Math.min(this.#most, kernel.balance(nowUs) / 2));
      if (share > needed && kernel.acquire(nowUs, share, 0) === 0) {
        this.#stock += share * UNITS;
        return true;
      }
    }
    this.#isShort = kernel.acquire(nowUs, needed, 0) !== 0;
    if (this.#isShort) return false;
    this.#stock += needed * UNITS;
    return true;
  }

  /**
   * Takes as many whole tokens as are available, up to `n`, and returns their number. They come
   * from the stock or, if it has too few, from stock and bucket together.
   */
  consumeOrDrain(n: number): number {
    const whole = Math.floor(checkTokens('n', n));
    if (this.#try(whole)) return whole;
    if (!this.#owes()) {
      this.release();
      return this.#bucket.consumeOrDrain(whole);
    }
    const held = Math.floor(this.stock);
    this.#stock -= held * UNITS;
    refused(this.#bucket, whole - held);
    return held;
  }

  /**
   * Waits until `n` tokens are available. If stock and bucket have too few, returns the stock and
   * joins the bucket's queue. While the bucket is in debt, it would keep what is returned: the stock
   * stays in the lease, and the bucket grants all `n`.
   *
   * @throws RateLimitError as {@link BucketCalls.wait} does.
   */
  async wait(n = 1, options: WaitOptions = {}): Promise<Waited> {
    checkTokens('n', n);
    checkWait(options).signal?.throwIfAborted();
    if (this.#try(n)) return AT_ONCE;
    if (!this.#owes()) this.release();
    return this.#bucket.wait(n, options);
  }

  /**
   * Like {@link wait}, but blocks the thread; returns false at once if it would exceed `timeoutMs`.
   *
   * @throws RateLimitError as {@link BucketCalls.waitSync} does.
   */
  waitSync(n = 1, options: BlockingWaitOptions = {}): boolean {
    checkTokens('n', n);
    checkWait(options, BLOCKING_WAIT);
    if (this.#try(n)) return true;
    if (!this.#owes()) this.release();
    return this.#bucket.waitSync(n, options);
  }

  /** Returns the tokens that this thread can take now: stock plus bucket, at most the burst. */
  available(): number {
    this.#settle();
    return Math.min(this.#bucket.limit, this.stock + this.#bucket.available());
  }

  /**
   * Puts the stock back into the bucket and returns its size. The lease stays usable: the next call
   * takes new tokens.
   */
  release(): number {
    const { stock } = this;
    this.#stock = 0;
    if (stock > 0) this.#bucket.returnTokens(stock);
    return stock;
  }

  /** {@link release}, for `using`. Requires Node 20.4 or later. */
  [Symbol.dispose](): void {
    this.release();
  }
}
