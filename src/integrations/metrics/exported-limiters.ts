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

/** The limiters that a `LimiterMetrics` exports, by name. */
export class ExportedLimiters {
  readonly #limiters = new Map<string, MeasuredLimiter>();
  readonly #regions: LimiterRegion[] = [];
  /** Removed limiters of regions. */
  readonly #removed = new Set<string>();

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

  addRegion(region: LimiterRegion): void {
    if (typeof region?.limiters !== 'function') {
      throw new TypeError(`region must have a method limiters, got ${shown(region)}`);
    }
    this.#regions.push(region);
    this.#findLimiters(region);
  }

  /** Returns whether the name was in use. */
  remove(name: string): boolean {
    const isKnown = this.#limiters.delete(name);
    if (isKnown) this.#removed.add(name);
    return isKnown;
  }

  /** Reads each limiter once, including new ones of regions. */
  read(): ReadonlyMap<string, Reading> {
    for (const region of this.#regions) {
      try {
        this.#findLimiters(region);
      } catch {
        // A damaged region lists no new limiters. All known ones are still read.
      }
    }
    return new Map([...this.#limiters].map(([name, limiter]) => [name, safeReadingOf(limiter)]));
  }

  #findLimiters(region: LimiterRegion): void {
    for (const { name, limiter } of region.limiters()) {
      const isNew = !this.#limiters.has(name) && !this.#removed.has(name);
      if (isNew && isMeasured(limiter)) this.#limiters.set(name, limiter);
    }
  }
}
