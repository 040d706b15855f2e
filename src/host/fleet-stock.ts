import { handleOfName } from '../limiters/opening.ts';
import { Described, type Description, type LimiterStats } from '../limiters/state.ts';
import { TokenBucket } from '../limiters/token-bucket.ts';
import { FLEET_CELL, FLEET_STOCK } from '../memory/layout/fleet.ts';
import type { Named, Region } from '../memory/region.ts';
import { loadDouble } from '../memory/shared-double.ts';

/**
 * The stock of a `FleetBucket` in a region, as {@link HostRegion.limiters} lists it: to watch, not
 * to take tokens. Spend them with `FleetBucket.open`.
 *
 * @example
 * ```ts
 * import { HostRegion } from 'zerotime/host';
 *
 * const region = HostRegion.open({ path: 'my-service' });
 * for (const { name, kind, limiter } of region.limiters()) {
 *   if (kind === 'fleet-bucket') console.log(name, limiter.available(), limiter.bought);
 * }
 * ```
 */
export class HostStock extends Described {
  readonly #region: Region;
  readonly #cell: number;
  readonly #bucket: TokenBucket;

  /** @internal */
  constructor(region: Region, { name, cell }: Named) {
    super();
    this.#region = region;
    this.#cell = cell;
    const at = (field: number) => Atomics.load(region.i32, (cell + field) >> 2);
    const bucket = { name, cell: at(FLEET_CELL.bucket), clock: at(FLEET_CELL.clock) };
    this.#bucket = TokenBucket.attach(handleOfName(region, bucket, 'token-bucket'));
  }

  #count(field: number): number {
    return loadDouble(this.#region.i64, (this.#cell + field) >> 3);
  }

  /** The maximum number of tokens in stock. */
  get limit(): number {
    return this.#bucket.limit;
  }

  /** Tokens available now, fractions included. */
  available(): number {
    return this.#bucket.available();
  }

  /** Tokens bought by all processes so far, without those that were returned to the source. */
  get bought(): number {
    return this.#count(FLEET_STOCK.bought) - this.#count(FLEET_STOCK.returned);
  }

  /**
   * Counts of the spends of all processes. `waiting` is always 0: callers wait outside the stock.
   *
   * @throws RateLimitError `ERR_STATS_DISABLED` if it was created without `stats: true`.
   */
  stats(): LimiterStats {
    return this.#bucket.stats();
  }

  /** @internal */
  protected describe(): Description {
    const { limit, bought } = this;
    return ['FleetBucket', { stock: limit, tokens: this.available(), bought }];
  }
}
