import type { LimiterStats } from '../../kernel/bucket/kernel.ts';
import type { ContinuousLimit } from '../../limiters/limit.ts';
import { checkShared } from '../../limiters/opening.ts';
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

/** The largest stock: so many tokens are exact, whatever is spent of them. */
const MAX_STOCK = 1e9;
/** What was bought for the next few purchases is not old yet. */
const LEAST_AGE_INTERVALS = 10;

/** What a process does while the source of its tokens is unreachable. */
export type FleetWhenUnreachable =
  | {
      /** Spends its stock, and then gets nothing. The default. */
      readonly whenUnreachable?: 'refuse';
    }
  | {
      /** Spends its stock, and then its share of the rate, by its own clock. */
      readonly whenUnreachable: 'local';
      /** Of the whole fleet, in tokens per second: 1e-6 to 4e9. */
      readonly rate: number;
      /** How many processes share it: an integer of at least 1. */
      readonly processes: number;
    };

/** Options of {@link FleetBucket.create}. */
export type FleetBucketOptions = FleetWhenUnreachable & {
  /**
   * Where the tokens come from: a `RedisTokenBucket`, made with `whenUnreachable: 'throw'`, so that
   * it says when it cannot be reached.
   */
  readonly source: TokenSource;
  /** The most tokens that this process holds: an integer from 1 to 1e9. */
  readonly stock: number;
  /** So many tokens are kept however old they are: an integer from 1 to `stock`. Default 1. */
  readonly minStock?: number;
  /** At least so many milliseconds pass from one command to the source to the next: 1 to 60,000. Default 20. */
  readonly intervalMs?: number;
  /**
   * Tokens that were not spent so many milliseconds after they were bought are given back: at least
   * 10 times `intervalMs`, or Infinity. Default 50 times `intervalMs`.
   */
  readonly maxAgeMs?: number;
  /** What the buyer and timeouts go by, in all threads. Default: the system's monotonic clock. */
  readonly clock?: Clock;
  /** Where to put the stock. Default: memory that all limiters of this thread share. */
  readonly region?: Region;
  /** What works on the stock's memory, in all threads: as for every limiter. */
  readonly kernel?: KernelName;
  /** Whether to count what the threads do. Default false. */
  readonly stats?: boolean;
  /** Numbers from 0 to 1 that spread the commands of many processes. Default `Math.random`. */
  readonly random?: () => number;
};

/** What the buyer of a process has done so far. */
export interface FleetStats {
  /** Times that it asked for tokens, of the source or, while that was unreachable, of its local share. */
  readonly purchases: number;
  /** Tokens that it got. */
  readonly bought: number;
  /** Tokens that the source took back. */
  readonly returned: number;
  /** Commands that the source did not answer. */
  readonly failures: number;
  /** Whether the source answered last time. */
  readonly isReachable: boolean;
  /** What all threads together have done with the stock; undefined without `stats: true`. */
  readonly threads: LimiterStats | undefined;
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
 * One process's part of a limit that a whole fleet shares: a stock of tokens in shared memory, which
 * all threads of the process spend with no network in between, and a buyer that fills it from a
 * `RedisTokenBucket` in bulk, before it runs dry. For rates at which a command for each token is too
 * much.
 *
 * Tokens are taken from the source before they are spent. So in any interval of t seconds the fleet
 * spends at most burst + rate * t + the stocks of all processes, where burst and rate are the
 * source's. A process that is killed takes its stock with it: tokens are lost, never made.
 *
 * Make one in each process, in the thread that lives longest; the others attach to its handle. Each
 * one that is made has a stock and a buyer of its own, and counts as one process. The buyer runs on
 * the event loop of the thread that made it; that thread must not be blocked for long.
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
 * await fleet.close(); // gives back what is left
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
   * Makes the stock of this process and starts its buyer. Resolves when the first tokens have been
   * asked for, whether or not the source could be reached.
   *
   * @throws RangeError, TypeError for an option out of its range, naming it.
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
      // Else it answers for the server, and the buyer would not know.
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

  /** What the buyer has done so far. */
  stats(): FleetStats {
    const { purchases, bought, returned } = this.#buyer;
    const { failures, isReachable } = this.#supply;
    const threads = this.#isCounted ? this.stock.bucket.stats() : undefined;
    return { purchases, bought, returned, failures, isReachable, threads };
  }

  /**
   * Ends the buyer, and gives back what is left: resolves when that is done, or has failed. At once, no
   * thread gets any more tokens from the stock, and all waits reject with `ERR_FLEET_CLOSED`.
   */
  close(): Promise<void> {
    return this.#buyer.close();
  }

  /** {@link close}, for `await using`. Node has the symbol from version 20.4 on. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}
