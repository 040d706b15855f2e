import { checkOptions, type Known } from '../../known-options.ts';
import { checkShared } from '../../limiters/opening.ts';
import type { LimiterStats } from '../../limiters/stats.ts';
import type { KernelName } from '../../memory/handle.ts';
import type { Region } from '../../memory/region.ts';
import type { Clock } from '../../time/clock.ts';
import { Buyer } from './fleet/buyer.ts';
import { FleetSpender } from './fleet/spender.ts';
import { Stock } from './fleet/stock.ts';
import { type FleetTermsOptions, termsOf, termsOptionsOf } from './fleet/terms.ts';
import { checkSource, type TokenSource } from './token-source.ts';

/** What a process does while the token source is unreachable. */
export type FleetWhenUnreachable =
  | {
      /** Spends the stock, then refuses. The default. */
      readonly whenUnreachable?: 'refuse';
    }
  | {
      /** Spends the stock, then this process's share of the rate by its own clock. */
      readonly whenUnreachable: 'local';
      /** The rate of the whole fleet in tokens per second: 1e-6 to 4e9. */
      readonly rate: number;
      /** The number of processes that share the rate: an integer of at least 1. */
      readonly processes: number;
    };

/** Options of {@link FleetBucket.create}. */
export type FleetBucketOptions = FleetWhenUnreachable & {
  /**
   * The source of the tokens: a `RedisTokenBucket` with `whenUnreachable: 'throw'`, so that the
   * buyer learns of an unreachable server.
   */
  readonly source: TokenSource;
  /** The largest number of tokens that this process holds: an integer from 1 to 1e9. */
  readonly stock: number;
  /** Tokens kept regardless of age: an integer from 1 to `stock`. Default 1. */
  readonly minStock?: number;
  /** Minimum time between commands to the source, in milliseconds: 1 to 60,000. Default 20. */
  readonly intervalMs?: number;
  /**
   * Unspent tokens are returned to the source after this many milliseconds: at least 10 times
   * `intervalMs`, or Infinity. Default 50 times `intervalMs`.
   */
  readonly maxAgeMs?: number;
  /**
   * The clock of the buyer and of timeouts, in all threads. Default: the system's monotonic clock.
   */
  readonly clock?: Clock;
  /** Where to allocate the stock. Default: the region that all limiters of this thread share. */
  readonly region?: Region;
  /** The kernel that works on the stock, in all threads, as for every limiter. */
  readonly kernel?: KernelName;
  /** Whether to count what the threads spend. Default false. */
  readonly stats?: boolean;
  /** Returns numbers from 0 to 1 that add jitter to the commands. Default `Math.random`. */
  readonly random?: () => number;
};

const OPTIONS: Known<FleetBucketOptions> = {
  source: true,
  stock: true,
  minStock: true,
  intervalMs: true,
  maxAgeMs: true,
  whenUnreachable: true,
  rate: true,
  processes: true,
  clock: true,
  region: true,
  kernel: true,
  stats: true,
  random: true,
};

/** Counts of a fleet bucket, since it was created. */
export interface FleetStats {
  /**
   * Purchases: requests for tokens to the source or, while it is unreachable, to the local share.
   */
  readonly purchases: number;
  /** Tokens bought. */
  readonly bought: number;
  /** Tokens returned to the source. */
  readonly returned: number;
  /** Commands that failed because the source was unreachable. */
  readonly failures: number;
  /** Whether the source answered the last command of the thread that buys. */
  readonly isReachable: boolean;
  /** Callers now waiting in `wait` on this object. Those of other threads do not count. */
  readonly waiting: number;
  /** Counts of the stock over all threads; undefined without `stats: true`. */
  readonly threads: Omit<LimiterStats, 'waiting'> | undefined;
}

/**
 * One process's share of a limit for a whole fleet, for rates at which one command per token is too
 * slow. The stock lies in shared memory, and all threads of the process spend it without network
 * calls. A buyer refills it in bulk from a `RedisTokenBucket` before it runs dry.
 *
 * Tokens leave the source before they are spent. In any interval of t seconds the fleet therefore
 * spends at most burst + rate * t + the stocks of all processes, with the burst and rate of the
 * source. If a process is killed, the tokens in its stock are lost.
 *
 * Create one in each process, in its longest-lived thread, and attach the other threads to its
 * handle. Each fleet bucket has its own stock and buyer, and counts as one process. The buyer runs
 * on the event loop of the thread that created it. If that thread ends or is blocked for a second
 * while others need tokens, a thread that was attached with a `source` takes over.
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

  private constructor(
    stock: Stock,
    clock: Clock,
    terms: FleetTermsOptions,
    buyer: Buyer,
    isCounted: boolean,
  ) {
    super(stock, clock, terms, buyer);
    this.#isCounted = isCounted;
    this.#buyer = buyer;
  }

  /**
   * Creates the stock of this process and starts its buyer. Resolves after the first purchase,
   * whether or not the source could be reached.
   *
   * @throws RangeError, TypeError for an invalid option, naming it.
   * @throws RateLimitError `ERR_REGION_FULL` if `region` has no room.
   * @throws what `random` throws.
   */
  static async create(options: FleetBucketOptions): Promise<FleetBucket> {
    const terms = termsOf(checkOptions(options, OPTIONS));
    const { random = Math.random } = options;
    const { clock, stats } = checkShared(options);
    const source = checkSource(options.source);
    const stock = Stock.create(terms.stock, options);
    const buyer = new Buyer({ stock, source, terms, clock, random });
    await buyer.open();
    return new FleetBucket(stock, clock, termsOptionsOf(options), buyer, stats);
  }

  /** The counts so far, over all threads that have bought. */
  stats(): FleetStats {
    const { counts } = this.stock;
    return {
      purchases: counts.of('purchases'),
      bought: counts.of('bought'),
      returned: counts.of('returned'),
      failures: counts.of('failures'),
      isReachable: counts.isReachable,
      waiting: this.waiting,
      threads: this.#threads,
    };
  }

  get #threads(): FleetStats['threads'] {
    if (!this.#isCounted) return undefined;
    // Nobody waits on the stock's bucket itself.
    const { waiting, ...threads } = this.stock.bucket.stats();
    return threads;
  }

  /**
   * Stops the buyer and returns the unspent tokens to the source; resolves when that has succeeded
   * or failed. From the call on, no thread gets tokens from the stock, and all waits reject with
   * `ERR_FLEET_CLOSED`. Rejects with what `random` threw, which closes the fleet bucket too.
   */
  close(): Promise<void> {
    return this.#buyer.close();
  }

  /** {@link close}, for `await using`. Node.js has the symbol since version 20.4. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}
