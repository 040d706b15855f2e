import { HitCounts, type HitStoreOptions, type Hits } from './hit-counts.ts';

/** Gets a client's hits, in the terms of @fastify/rate-limit. */
export type FastifyHitsCallback = (
  error: Error | null,
  result?: {
    /** The hits of the client in this window, also those beyond the limit. */
    current: number;
    /** Milliseconds until the window ends. */
    ttl: number;
  },
) => void;

/** A store of @fastify/rate-limit: see {@link fastifyRateLimitStore}. */
export interface FastifyRateLimitStore {
  /** Counts a hit in a window of `timeWindow` milliseconds. */
  incr(key: string, callback: FastifyHitsCallback, timeWindow: number, max?: number): void;
  /** Reports a client's hits and counts nothing. */
  read(key: string, callback: FastifyHitsCallback, timeWindow: number, max?: number): void;
  /** Returns the store of a route with options of its own. */
  child(routeOptions: object): FastifyRateLimitStore;
}

/** What `fastifyRateLimitStore` returns: the option `store` of @fastify/rate-limit. */
export type FastifyRateLimitStoreClass = new (options: object) => FastifyRateLimitStore;

/** The options of a route that a store looks at. */
interface RouteOptions {
  readonly groupId?: string;
  readonly routeInfo?: { readonly method?: unknown; readonly url?: string };
  readonly continueExceeding?: unknown;
  readonly exponentialBackoff?: unknown;
}

/** They start the window of one client anew: here it starts for all clients at once. */
const UNSUPPORTED = ['continueExceeding', 'exponentialBackoff'] as const;

function checkSupported(options: RouteOptions): void {
  for (const name of UNSUPPORTED) {
    if (options[name] === true) throw new TypeError(`${name} must be false with this store`);
  }
}

/**
 * A store for @fastify/rate-limit 10 and 11, on fastify 5: all threads that share the region count each client
 * together, exactly. Pass the result as the option `store`, in each thread, with the same options.
 *
 * The windows of all clients start at the same instants, not with a client's first request. The
 * options `continueExceeding` and `exponentialBackoff` throw.
 *
 * @example
 * ```ts
 * import rateLimit from '@fastify/rate-limit';
 * import fastify from 'fastify';
 * import { fastifyRateLimitStore } from 'zerotime/http';
 *
 * const region = Region.create({ bytes: 8_388_608 }); // in a worker: Region.attach(handle)
 * const app = fastify();
 * await app.register(rateLimit, {
 *   max: 100,
 *   timeWindow: '1 minute',
 *   store: fastifyRateLimitStore({ region, capacity: 100_000 }),
 * });
 * ```
 * @throws TypeError, RangeError for an invalid option, naming it.
 */
export function fastifyRateLimitStore(options: HitStoreOptions): FastifyRateLimitStoreClass {
  const counts = new HitCounts(options);
  return class extends SharedStore {
    constructor(settings: object) {
      checkSupported(settings);
      super(counts, 'all');
    }
  };
}

class SharedStore implements FastifyRateLimitStore {
  readonly #counts: HitCounts;
  /** Tells the routes with options of their own apart: no place begins with another. */
  readonly #place: string;
  #unnamed = 0;

  constructor(counts: HitCounts, place: string) {
    this.#counts = counts;
    this.#place = `${place}\n`;
  }

  incr(key: string, callback: FastifyHitsCallback, timeWindow: number): void {
    this.#answer(callback, () => this.#counts.of(timeWindow).hit(this.#place + key));
  }

  read(key: string, callback: FastifyHitsCallback, timeWindow: number): void {
    this.#answer(callback, () => this.#counts.of(timeWindow).read(this.#place + key));
  }

  #answer(callback: FastifyHitsCallback, take: () => Hits): void {
    let taken: Hits;
    try {
      taken = take();
    } catch (error) {
      callback(error as Error); // limiters throw nothing else
      return;
    }
    callback(null, { current: taken.hits, ttl: taken.resetMs });
  }

  child(routeOptions: RouteOptions): FastifyRateLimitStore {
    checkSupported(routeOptions);
    return new SharedStore(this.#counts, this.#placeOf(routeOptions));
  }

  #placeOf({ groupId, routeInfo: { method, url } = {} }: RouteOptions): string {
    if (groupId !== undefined) return `group ${groupId}`;
    if (url !== undefined) return `${method} ${url}`;
    // Made by `app.rateLimit()` or `createRateLimit()`: all threads do so in one order.
    return `#${this.#unnamed++}`;
  }
}
