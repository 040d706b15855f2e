import { checkPeer } from '../../peers.ts';
import { HitCounts, type HitStoreOptions, type HitWindow } from './hit-counts.ts';

/** A client's hits, in express-rate-limit's format. */
export interface ExpressHits {
  /** Hits of the client in this window, including those above the limit. */
  totalHits: number;
  /** The end of the window. */
  resetTime: Date;
}

/** A store for express-rate-limit: see {@link expressRateLimitStore}. */
export class ExpressRateLimitStore {
  /** False: all threads share the counts. */
  readonly localKeys = false;
  /** Tells express-rate-limit that stores with other names have separate counts. */
  readonly prefix: string;
  readonly #counts: HitCounts;
  #window: HitWindow | undefined;
  #failure: unknown;

  /** @internal */
  constructor(options: HitStoreOptions) {
    this.#counts = new HitCounts(options);
    this.prefix = `${this.#counts.name} `;
  }

  /**
   * Opens the counts of the middleware's window in the region.
   *
   * @throws RangeError, HandleError, RateLimitError if they cannot be opened. The middleware logs
   *   the error, and every request fails with it.
   */
  init({ windowMs }: { readonly windowMs: number }): void {
    try {
      this.#window = this.#counts.of(windowMs, 'windowMs');
    } catch (error) {
      this.#failure = error;
      throw error;
    }
  }

  get #opened(): HitWindow {
    if (this.#window !== undefined) return this.#window;
    throw this.#failure ?? new TypeError('init must be called before other methods of the store');
  }

  /** Returns a client's hits in this window; undefined without any. */
  get(key: string): ExpressHits | undefined {
    const { hits, resetMs } = this.#opened.read(key);
    return hits === 0 ? undefined : { totalHits: hits, resetTime: inMs(resetMs) };
  }

  /** Counts a hit. */
  increment(key: string): ExpressHits {
    const { hits, resetMs } = this.#opened.hit(key);
    return { totalHits: hits, resetTime: inMs(resetMs) };
  }

  /** Removes a hit. */
  decrement(key: string): void {
    this.#opened.unhit(key);
  }

  /** Resets a client's count, for all threads. */
  resetKey(key: string): void {
    this.#opened.forget(key);
  }

  /** Resets all counts with this name, for all threads. */
  resetAll(): void {
    this.#counts.forgetAll();
  }
}

function inMs(ms: number): Date {
  return new Date(Date.now() + ms);
}

/**
 * A store for express-rate-limit 7 and 8. Threads that share the region count each client together,
 * exactly. In each thread, create one store per `rateLimit()`, with the same options everywhere.
 *
 * Windows start at fixed instants for all clients, not with a client's first request.
 *
 * @example
 * ```ts
 * import { rateLimit } from 'express-rate-limit';
 * import { expressRateLimitStore } from 'zerotime/http';
 *
 * const region = Region.create({ bytes: 8_388_608 }); // in a worker: Region.attach(handle)
 * const limit = rateLimit({
 *   windowMs: 60_000,
 *   limit: 100,
 *   store: expressRateLimitStore({ region, capacity: 100_000 }),
 * });
 * ```
 * @throws TypeError, RangeError for an invalid option; RateLimitError `ERR_REGION_FULL`.
 */
export function expressRateLimitStore(options: HitStoreOptions): ExpressRateLimitStore {
  checkPeer('zerotime/http', 'express-rate-limit');
  return new ExpressRateLimitStore(options);
}
