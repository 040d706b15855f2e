import type { ContinuousLimit } from '../../limiters/limit.ts';
import { checkShared } from '../../limiters/opening.ts';
import type { LimiterStats } from '../../limiters/stats.ts';
import type { KernelName } from '../../memory/handle.ts';
import type { Region } from '../../memory/region.ts';
import { checkNumber, checkObject, shown } from '../../options.ts';
import type { Clock } from '../../time/clock.ts';
import { Buyer } from './fleet/buyer.ts';
import type { BuyingTerms } from './fleet/buying-rule.ts';
import { FleetSpender } from './fleet/spender.ts';
import { Stock } from './fleet/stock.ts';
import { Supply } from './fleet/supply.ts';
import { RedisTokenBucket } from './redis-token-bucket.ts';
import type { TokenSource } from './token-source.ts';

/** The largest stock whose balance is still exact. */
const MAX_STOCK = 1e9;
/** Lower bound of `maxAgeMs`: the stock covers several intervals ahead and must outlive them. */
const LEAST_AGE_INTERVALS = 10;

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
  /** Whether the source answered the last command. */
  readonly isReachable: boolean;
  /** Callers now waiting in `wait` on this object. Those of other threads do not count. */
  readonly waiting: number;
  /** Counts of the stock over all threads; undefined without `stats: true`. */
  readonly threads: Omit<LimiterStats, 'waiting'> | undefined;
}

function termsOf(options: FleetBucketOptions): BuyingTerms {
  const { stock, minStock = 1, intervalMs = 20 } = options;
  checkNumber('stock', stock, { min: 1, max: MAX_STOCK, integer: true });
  checkNumber('minStock', minStock, { min: 1, max: stock, integer: true });
  checkNumber('intervalMs', intervalMs, { min: 1, max: 60_000 });
  const { maxAgeMs = 50 * intervalMs } = options;
  checkNumber('maxAgeMs', maxAgeMs, { min: LEAST_AGE_INTERVALS * intervalMs, orInfinity: true });
  return { stock, minStock, intervalUs: intervalMs * 1000, maxAgeUs: maxAgeMs * 1000 };
}

function shareOf(options: FleetBucketOptions): ContinuousLimit | undefined {
  const { whenUnreachable = 'refuse', stock } = options;
  if (whenUnreachable !== 'refuse' && whenUnreachable !== 'local') {
    throw new RangeError(
      `whenUnreachable must be "refuse" or "local", got ${shown(whenUnreachable)}`,
    );
  }
  if (options.whenUnreachable !== 'local') return undefined;
  checkNumber('rate', options.rate, { min: 1e-6, max: 4e9 });
  checkNumber('processes', options.processes, { min: 1, integer: true });
  return { rate: options.rate / options.processes, burst: stock };
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
 * on the event loop of the thread that created it; don't block that thread for long.
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
  readonly #supply: Supply;
  readonly #isCounted: boolean;

  private constructor(
    stock: Stock,
    clock: Clock,
    supply: Supply,
    buyer: Buyer,
    isCounted: boolean,
  ) {
    super(stock, clock);
    this.#isCounted = isCounted;
    this.#supply = supply;
    this.#buyer = buyer;
  }

  /**
   * Creates the stock of this process and starts its buyer. Resolves after the first purchase,
   * whether or not the source could be reached.
   *
   * @throws RangeError, TypeError for an invalid option, naming it.
   * @throws RateLimitError `ERR_REGION_FULL` if `region` has no room.
   */
  static async create(options: FleetBucketOptions): Promise<FleetBucket> {
    const terms = termsOf(checkObject('options', options));
    const share = shareOf(options);
    const { source, random = Math.random } = options;
    const { clock, stats } = checkShared(options);
    if (typeof source?.consumeOrDrain !== 'function') {
      throw new TypeError(`source must be a TokenSource, got ${shown(source)}`);
    }
    if (source instanceof RedisTokenBucket && source.whenUnreachable !== 'throw') {
      // Any other setting answers in the server's place, and the buyer could not tell.
      throw new RangeError(
        `source must have whenUnreachable "throw", got ${shown(source.whenUnreachable)}`,
      );
    }
    const stock = Stock.create(terms.stock, options);
    const supply = new Supply(source, clock, share);
    const buyer = new Buyer(stock, supply, terms, clock, random);
    buyer.start();
    await buyer.opened;
    return new FleetBucket(stock, clock, supply, buyer, stats);
  }

  /** The buyer's counts so far. */
  stats(): FleetStats {
    const { purchases, bought, returned } = this.#buyer;
    const { failures, isReachable } = this.#supply;
    const { waiting } = this;
    return { purchases, bought, returned, failures, isReachable, waiting, threads: this.#threads };
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
   * `ERR_FLEET_CLOSED`.
   */
  close(): Promise<void> {
    return this.#buyer.close();
  }

  /** {@link close}, for `await using`. Node.js has the symbol since version 20.4. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}
