import { HandleError } from '../errors.ts';
import { attach, type LimiterOf } from '../limiters/attach.ts';
import { handleOfName, kindAt } from '../limiters/opening.ts';
import { Described, type Description, type LimiterStats } from '../limiters/state.ts';
import { TokenBucket } from '../limiters/token-bucket.ts';
import { FLEET_CELL, FLEET_STOCK } from '../memory/layout/fleet.ts';
import { namesIn } from '../memory/names.ts';
import type { Named, Region } from '../memory/region.ts';
import { loadDouble } from '../memory/shared-double.ts';
import { shown } from '../options.ts';

interface Placed<Kind, Limiter> {
  /** Its name in the region. */
  readonly name: string;
  /** Its kind, as in its handle. */
  readonly kind: Kind;
  /** The limiter, to which this thread is attached. */
  readonly limiter: Limiter;
}

interface HostLimiterOf extends LimiterOf {
  'fleet-bucket': HostStock;
}

/** A named limiter in a region, or the stock of a fleet bucket. */
export type HostLimiter = {
  [Kind in keyof HostLimiterOf]: Placed<Kind, HostLimiterOf[Kind]>;
}[keyof HostLimiterOf];

/** The error of an operation that a limiter of its kind does not have. */
export function misfit(
  one: { readonly name: string; readonly kind: string },
  rest: string,
): TypeError {
  return new TypeError(`${shown(one.name)} is a ${one.kind}, ${rest}`);
}

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

/** Stands for a limiter that cannot be attached to: printing it says why, any other use throws. */
function unreadable(error: HandleError): object {
  const { message } = error;
  const printed = {
    toString: () => `limiter { unreadable: ${message} }`,
    toJSON: () => ({ limiter: 'limiter', unreadable: message }),
  };
  return new Proxy(printed, {
    get(target, key) {
      if (typeof key === 'symbol' || key in target) return Reflect.get(target, key);
      throw error;
    },
  });
}

/** A region's limiters, by cell. Attaching twice would take a second counter stripe. */
export class HostLimiters {
  readonly #attached = new Map<number, HostLimiter>();

  list(region: Region): readonly HostLimiter[] {
    return [...namesIn(region)].reverse().flatMap((named) => this.find(region, named) ?? []);
  }

  /** The limiter with a name; undefined if it is a clock's. */
  find(region: Region, named: Named): HostLimiter | undefined {
    const known = this.#attached.get(named.cell);
    if (known !== undefined) return known;
    const kind = kindAt(region, named.cell);
    if (kind === undefined) return undefined; // a clock
    // The kind determines the class.
    const found = { name: named.name, kind, limiter: attached(region, named, kind) } as HostLimiter;
    this.#attached.set(named.cell, found);
    return found;
  }
}

/** Another limiter must not suffer from a damaged one. */
function attached(region: Region, named: Named, kind: HostLimiter['kind']): unknown {
  try {
    if (kind === 'fleet-bucket') return new HostStock(region, named);
    return attach(handleOfName(region, named, kind));
  } catch (error) {
    if (error instanceof HandleError) return unreadable(error);
    throw error;
  }
}
