import { shown } from '../../options.ts';
import {
  checkCounts,
  isMeasured,
  type MeasuredLimiter,
  type Reading,
  safeReadingOf,
} from './readings.ts';

/** A named limiter of a region. */
export interface RegionLimiter {
  /** The name with which it was opened. */
  readonly name: string;
  /** The limiter, of any kind. */
  readonly limiter: unknown;
}

/** A region with named limiters: a `HostRegion` of `zerotime/host`. */
export interface LimiterRegion {
  /** Returns its limiters. */
  limiters(): Iterable<RegionLimiter>;
}

/** The part that all `LimiterMetrics` share: which limiters they export, by name. */
export abstract class Exporting {
  readonly #limiters = new Map<string, MeasuredLimiter>();
  /** The names that were removed since the region was added. */
  readonly #regions = new Map<LimiterRegion, Set<string>>();

  /**
   * Exports a limiter under this name until {@link remove} is called. A bucket on a server exports
   * the counts of this object, and whether the server responds; it is not asked.
   *
   * @throws RateLimitError `ERR_STATS_DISABLED` if the limiter was created without `stats: true`. A
   *   keyed bucket without it only exports its entries, a fleet bucket its purchases.
   * @throws TypeError if `limiter` has no `stats` method, or another limiter than those of
   *   `zerotime/redis` answers with promises; RangeError if the name is taken.
   */
  add(name: string, limiter: MeasuredLimiter): void {
    if (typeof name !== 'string') throw new TypeError(`name must be a string, got ${shown(name)}`);
    if (typeof limiter?.stats !== 'function') {
      throw new TypeError(`limiter must have a method stats, got ${shown(limiter)}`);
    }
    if (this.#limiters.has(name)) {
      throw new RangeError(`name must not be in use, got ${shown(name)}`);
    }
    checkCounts(limiter); // throw now, not at the next collection
    this.#limiters.set(name, limiter);
  }

  /**
   * Exports all limiters of a region that keep counts, under their names, including those created
   * later. Counts cover all processes that share the region, so export it from one process only.
   *
   * @throws TypeError if `region` has no `limiters` method; HandleError if it is damaged.
   *
   * @example
   * ```ts
   * import { HostRegion } from 'zerotime/host';
   * import { LimiterMetrics } from 'zerotime/prometheus';
   *
   * const metrics = new LimiterMetrics();
   * metrics.addRegion(HostRegion.find('my-service'));
   * ```
   */
  addRegion(region: LimiterRegion): void {
    if (typeof region?.limiters !== 'function') {
      throw new TypeError(`region must have a method limiters, got ${shown(region)}`);
    }
    const removed = new Set<string>();
    this.#findLimiters(region, removed); // if this throws, the region is not kept
    this.#regions.set(region, removed);
  }

  /**
   * Stops exporting a limiter. Returns whether the name was in use. SDK 2 readers of OpenTelemetry
   * repeat its last values unless their temporality is delta.
   */
  remove(name: string): boolean {
    const isKnown = this.#limiters.delete(name);
    if (isKnown) for (const removed of this.#regions.values()) removed.add(name);
    return isKnown;
  }

  /** Reads each limiter once, including new ones of regions. @internal */
  protected readAll(): ReadonlyMap<string, Reading> {
    for (const [region, removed] of this.#regions) {
      try {
        this.#findLimiters(region, removed);
      } catch {
        // A damaged region lists no new limiters. All known ones are still read.
      }
    }
    return new Map([...this.#limiters].map(([name, limiter]) => [name, safeReadingOf(limiter)]));
  }

  #findLimiters(region: LimiterRegion, removed: ReadonlySet<string>): void {
    for (const { name, limiter } of region.limiters()) {
      const isNew = !this.#limiters.has(name) && !removed.has(name);
      if (isNew && isMeasured(limiter)) this.#limiters.set(name, limiter);
    }
  }
}
