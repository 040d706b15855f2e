import { HitCounts, type HitStoreOptions, type HitWindow } from './hit-counts.ts';

/** A client's hits, in the terms of express-rate-limit. */
export interface ExpressHits {
  /** The hits of the client in this window, also those beyond the limit. */
  totalHits: number;
  /** When the window ends. */
  resetTime: Date;
}

/** A store for express-rate-limit: see {@link expressRateLimitStore}. */
export class ExpressRateLimitStore {
  /** False: all threads count together. */
  readonly localKeys = false;
  /** Tells express-rate-limit that stores of other names count apart. */
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
   * Opens the counts of the middleware's window, in the region.
   *
   * @throws RangeError, HandleError, RateLimitError if they cannot be opened. The middleware logs it,
   * and each request fails with it.
   */
  init({ windowMs }: { readonly windowMs: number }): void {
    try {
      this.#window = this.#counts.of(windowMs);
    } catch (error) {
      this.#failure = error;
      throw error;
    }
  }

  get #opened(): HitWindow {
    if (this.#window !== undefined) return this.#window;
    throw (
      this.#failure ?? new TypeError('init must be called before any other method of the store')
    );
  }

  /** Returns a client's hits; undefined if it has none in this window. */
  get(key: string): ExpressHits | undefined {
    const { hits, resetMs } = this.#opened.read(key);
    return hits === 0 ? undefined : { totalHits: hits, resetTime: inMs(resetMs) };
  }

  /** Counts a hit. */
  increment(key: string): ExpressHits {
    const { hits, resetMs } = this.#opened.hit(key);
    return { totalHits: hits, resetTime: inMs(resetMs) };
  }

  /** Takes a hit back. */
  decrement(key: string): void {
    this.#opened.unhit(key);
  }

  /** Sets a client's count to 0, in all threads. */
  resetKey(key: string): void {
    this.#opened.forget(key);
  }

  /** Sets all counts of this name to 0, in all threads. */
  resetAll(): void {
    this.#counts.forgetAll();
  }
}

function inMs(ms: number): Date {
  return new Date(Date.now() + ms);
}

/**
 * A store for express-rate-limit 7 and 8: all threads that share the region count each client
 * together, exactly. Make one for each `rateLimit()`, in each thread, with the same options.
 *
 * The windows of all clients start at the same instants, not with a client's first request.
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
 * @throws TypeError, RangeError for an invalid option, naming it.
 */
export function expressRateLimitStore(options: HitStoreOptions): ExpressRateLimitStore {
  return new ExpressRateLimitStore(options);
}
