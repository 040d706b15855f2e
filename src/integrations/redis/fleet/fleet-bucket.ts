import { RateLimitError } from '../../../errors.ts';
import { checkOptions, given, joined, type Known } from '../../../known-options.ts';
import { checkShared, type OpenOptions } from '../../../limiters/opening.ts';
import type { Description, LimiterStats } from '../../../limiters/state.ts';
import type { KernelName } from '../../../memory/handle.ts';
import type { Region } from '../../../memory/region.ts';
import { checkFunction, checkMade } from '../../../options.ts';
import type { Clock } from '../../../time/clock.ts';
import { Buyer } from './buyer.ts';
import { completeTerms, type FleetTermsOptions } from './cell.ts';
import { FleetSpender } from './spender.ts';
import { openNamedStock, STOCK_OPTIONS, Stock } from './stock.ts';
import { checkSource, type TokenSource } from './token-source.ts';

/** The behaviour of a process while the token source is unreachable. */
export type FleetWhenUnreachable =
  | {
      /** The default: spend the stock, then refuse. */
      readonly whenUnreachable?: 'refuse';
    }
  | {
      /** Spend the stock, then this process's share of the rate by its own clock. */
      readonly whenUnreachable: 'local';
      /** Rate of the whole fleet in tokens per second: 1e-6 to 4e9. */
      readonly rate: number;
      /** Number of processes that share the rate, or of machines with {@link FleetBucket.open}: an integer >= 1. */
      readonly processes: number;
    };

/** Options of {@link FleetBucket.create}. */
export type FleetBucketOptions = FleetWhenUnreachable &
  Pick<FleetTermsOptions, 'stock' | 'minStock' | 'intervalMs' | 'maxAgeMs'> & {
    /**
     * The source of tokens: a `RedisTokenBucket` with `whenUnreachable: 'throw'`, so that the buyer
     * notices an unreachable server.
     */
    readonly source: TokenSource;
    /**
     * The clock of the buyer and of timeouts, in all threads. Default: the system's monotonic clock.
     */
    readonly clock?: Clock;
    /** The region for the stock. Default: the shared region of this thread's limiters. */
    readonly region?: Region;
    /** The kernel to use in all threads, as for every limiter. */
    readonly kernel?: KernelName;
    /** Whether to count spent tokens. Default false. */
    readonly stats?: boolean;
    /** Returns numbers from 0 to 1, for jitter between commands. Default `Math.random`. */
    readonly random?: () => number;
  };

const OPTIONS: Known<FleetBucketOptions> = /* @__PURE__ */ joined(STOCK_OPTIONS, {
  source: true,
  random: true,
});

/** Counts of a fleet bucket since its creation. */
export interface FleetStats {
  /** Purchases from the source or, while it is unreachable, from the local share. */
  readonly purchases: number;
  /** Tokens bought. */
  readonly bought: number;
  /** Tokens returned to the source. */
  readonly returned: number;
  /** Commands that failed because the source was unreachable. */
  readonly failures: number;
  /** Whether the source responded to the buyer's last command. */
  readonly isReachable: boolean;
  /** Why not, as an error, if this thread buys or did last; otherwise undefined. */
  readonly cause: unknown;
  /** Callers waiting in `wait` on this object, without those of other threads. */
  readonly waiting: number;
  /** Counts of the stock over all threads; undefined without `stats: true`. */
  readonly threads: Omit<LimiterStats, 'waiting'> | undefined;
}

/**
 * One process's stock of tokens from a limit on a whole fleet, for rates at which one command per
 * token is too slow. All threads of the process spend the stock in shared memory, without network
 * calls. A buyer refills it in bulk from a `RedisTokenBucket` before it runs dry.
 *
 * Tokens leave the source before they are spent. In any interval of t seconds, the fleet therefore
 * spends at most burst + rate * t of the source, plus the stocks of all processes. If a process is
 * killed, its stock is lost.
 *
 * Create one in each process, in its longest-lived thread, and attach the other threads to its
 * handle. Each fleet bucket has its own stock and buyer, and counts as one process. The buyer runs
 * on the event loop of the creating thread. If that thread ends, or blocks for 0.8 s while
 * others need tokens, a thread attached with a `source` takes over.
 *
 * @example
 * ```ts
 * import { createClient } from 'redis';
 *
 * const client = await createClient({ url: 'redis://127.0.0.1:6379' }).connect();
 * const limit = { rate: 100_000, burst: 10_000 };
 * const source = RedisTokenBucket.create({ client, key: 'hot', ...limit, whenUnreachable: 'throw' });
 * const fleet = await FleetBucket.create({ source, stock: 4000 });
 * new Worker(url, { workerData: fleet.handle }); // there: FleetSpender.attach(workerData)
 * if (fleet.tryConsume()) serve();
 * await fleet.close(); // returns the unspent tokens
 * ```
 */
export class FleetBucket extends FleetSpender {
  readonly #buyer: Buyer;
  readonly #isCounted: boolean;

  private constructor(stock: Stock, clock: Clock, buyer: Buyer, isCounted: boolean) {
    super(checkMade(new.target, stock, 'bucket'), clock, buyer);
    this.#isCounted = isCounted;
    this.#buyer = buyer;
  }

  /** @internal */
  protected override describe(): Description {
    return ['FleetBucket', super.describe()[1]];
  }

  /**
   * Creates the stock of this process and starts its buyer. Resolves after the first purchase, even
   * if the source was unreachable.
   *
   * @throws RangeError, TypeError for an invalid option.
   * @throws RateLimitError `ERR_REGION_FULL` if `region` has no room.
   * @throws any error of `random`.
   */
  static async create(options: FleetBucketOptions): Promise<FleetBucket> {
    const terms = completeTerms(checkOptions(options, OPTIONS));
    const { random = Math.random } = options;
    checkFunction('random', random);
    const { clock, stats } = checkShared(options);
    const source = checkSource(options.source);
    const stock = Stock.create(terms, options);
    const buyer = new Buyer(stock, source, clock, random);
    await buyer.open();
    return new FleetBucket(stock, clock, buyer, stats);
  }

  /**
   * Opens the stock with a name in a region, and creates it if it does not exist. In a `HostRegion`,
   * one thread buys for all processes of the machine; if it ends, another process takes over within
   * 2 s. Each process needs a source of the same tokens. Resolves after the first purchase if this
   * thread buys, otherwise immediately.
   *
   * @example
   * ```ts
   * import { createClient } from 'redis';
   * import { HostRegion } from 'zerotime/host';
   *
   * const region = HostRegion.open({ path: 'my-service' });
   * const client = await createClient({ url: 'redis://127.0.0.1:6379' }).connect();
   * const limit = { rate: 100_000, burst: 10_000 };
   * const source = RedisTokenBucket.create({ client, key: 'hot', ...limit, whenUnreachable: 'throw' });
   * const fleet = await FleetBucket.open(region, 'hot', { source, stock: 4000 });
   * ```
   * @throws HandleError `ERR_NAME_MISMATCH` if the name belongs to a limiter, or to a stock with
   * different options, unless `onMismatch` is `'keep'`.
   * @throws RateLimitError `ERR_FLEET_CLOSED` if the region was closed.
   * @throws RangeError, TypeError, RateLimitError as {@link create} does.
   */
  static async open(
    region: Region,
    name: string,
    options: OpenOptions<FleetBucketOptions>,
  ): Promise<FleetBucket> {
    // Each thread has a source and a random of its own, so they are not compared.
    const known = { ...OPTIONS, onMismatch: true } as const;
    const {
      source,
      random = Math.random,
      ...others
    } = given(checkOptions(options, known), known) as typeof options;
    checkSource(source);
    checkFunction('random', random);
    if (region.sharing?.hasLeft?.() === true) {
      throw new RateLimitError('ERR_FLEET_CLOSED', 'the region was closed');
    }
    const { stock, clock, stats } = openNamedStock(region, name, others);
    const buyer = new Buyer(stock, source, clock, random);
    stock.members?.enter();
    try {
      await buyer.open();
    } catch (reason) {
      await buyer.close().catch(() => undefined);
      throw reason;
    }
    return new FleetBucket(stock, clock, buyer, stats);
  }

  /** Counts of all threads that have bought. */
  stats(): FleetStats {
    const { counts } = this.stock;
    return {
      purchases: counts.of('purchases'),
      bought: counts.of('bought'),
      returned: counts.of('returned'),
      failures: counts.of('failures'),
      isReachable: counts.isReachable,
      cause: counts.isReachable ? undefined : this.#buyer.purchases.failure,
      waiting: this.waiting,
      threads: this.#threads,
    };
  }

  get #threads(): FleetStats['threads'] {
    if (!this.#isCounted) return undefined;
    // Callers never wait on the stock's bucket itself.
    const { waiting, ...threads } = this.stock.bucket.stats();
    return threads;
  }

  /**
   * Closes the stock for all threads, and returns the unspent tokens to the source; resolves when
   * that has succeeded or failed. All waits reject with `ERR_FLEET_CLOSED`. Rejects with the error
   * of `random`, which also closes the fleet bucket.
   *
   * After {@link open}, closes this object only. Another process takes over the buying, and the last
   * one to close returns the unspent tokens.
   */
  close(): Promise<void> {
    if (this.stock.hasName) this.leave();
    return this.#buyer.close();
  }

  /** {@link close}, for `await using`. Needs Node.js 20.4. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}
