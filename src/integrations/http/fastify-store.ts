import { checkPeer } from '../../peers.ts';
import { HitCounts, type HitStoreOptions, type Hits, type HitWindow } from './hit-counts.ts';

/** Receives a client's hits, in the format of @fastify/rate-limit. */
export type FastifyHitsCallback = (
  error: Error | null,
  result?: {
    /** Hits of the client in this window, including those above the limit. */
    current: number;
    /** Milliseconds until the window ends. */
    ttl: number;
  },
) => void;

/** A store of @fastify/rate-limit: see {@link fastifyRateLimitStore}. */
export interface FastifyRateLimitStore {
  /** Counts a hit in a window of `timeWindow` milliseconds. */
  incr(key: string, callback: FastifyHitsCallback, timeWindow: number, max?: number): void;
  /** Reports a client's hits without counting one. */
  read(key: string, callback: FastifyHitsCallback, timeWindow: number, max?: number): void;
  /** Returns the store of a route with its own options. */
  child(routeOptions: object): FastifyRateLimitStore;
}

/** The option `store` of @fastify/rate-limit. */
export type FastifyRateLimitStoreClass = new (options: object) => FastifyRateLimitStore;

/** Identifies a route. */
interface RouteInfo {
  readonly method?: unknown;
  readonly url?: string;
  /** Such as host and version: routes of one URL may differ in these only. */
  readonly constraints?: object;
}

/** The route options that a store reads. */
interface RouteOptions {
  readonly groupId?: string;
  readonly routeInfo?: RouteInfo;
  readonly continueExceeding?: unknown;
  readonly exponentialBackoff?: unknown;
}

/** These restart the window of a single client, but here all clients share windows. */
const UNSUPPORTED = ['continueExceeding', 'exponentialBackoff'] as const;

function checkSupported(options: RouteOptions): void {
  for (const name of UNSUPPORTED) {
    if (options[name] === true) throw new TypeError(`${name} must be false with this store`);
  }
}

/**
 * A store for @fastify/rate-limit 10 and 11, on fastify 5. Threads that share the region count each
 * client together, exactly. In each thread, pass the result as the option `store`, with the same
 * options everywhere.
 *
 * Windows start at fixed instants for all clients, not with a client's first request. The options
 * `continueExceeding` and `exponentialBackoff` throw.
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
 * The first request opens its table: if the region has no room, requests fail with
 * `ERR_REGION_FULL`.
 *
 * @throws TypeError, RangeError for an invalid option.
 */
export function fastifyRateLimitStore(options: HitStoreOptions): FastifyRateLimitStoreClass {
  checkPeer('zerotime/http', '@fastify/rate-limit');
  const counts = new HitCounts(options);
  return class extends SharedStore {
    constructor(settings: object) {
      checkSupported(settings);
      super(counts, 'all');
    }
  };
}

/** Constraints as text, in a fixed order. Values may be regular expressions. */
function textOf(constraints: object = {}): string {
  const entries = Object.entries(constraints).sort(([a], [b]) => (a < b ? -1 : 1));
  if (entries.length === 0) return '';
  const text = (_: string, value: unknown) => (value instanceof RegExp ? String(value) : value);
  return ` ${JSON.stringify(entries, text)}`;
}

class SharedStore implements FastifyRateLimitStore {
  readonly #counts: HitCounts;
  /** Identifies a route with its own options. No place is a prefix of another. */
  readonly #place: string;
  #unnamed = 0;

  constructor(counts: HitCounts, place: string) {
    this.#counts = counts;
    this.#place = `${place}\n`;
  }

  incr(key: string, callback: FastifyHitsCallback, timeWindow: number): void {
    this.#answer(callback, () => this.#windowOf(timeWindow).hit(this.#place + key));
  }

  read(key: string, callback: FastifyHitsCallback, timeWindow: number): void {
    this.#answer(callback, () => this.#windowOf(timeWindow).read(this.#place + key));
  }

  #windowOf(timeWindow: number): HitWindow {
    return this.#counts.of(timeWindow, 'timeWindow');
  }

  #answer(callback: FastifyHitsCallback, take: () => Hits): void {
    let taken: Hits;
    try {
      taken = take();
    } catch (error) {
      callback(error as Error); // limiters only throw errors
      return;
    }
    callback(null, { current: taken.hits, ttl: taken.resetMs });
  }

  child(routeOptions: RouteOptions): FastifyRateLimitStore {
    checkSupported(routeOptions);
    return new SharedStore(this.#counts, this.#placeOf(routeOptions));
  }

  #placeOf({ groupId, routeInfo: { method, url, constraints } = {} }: RouteOptions): string {
    if (groupId !== undefined) return `group ${groupId}`;
    if (url !== undefined) return `${method} ${url}${textOf(constraints)}`;
    // From `app.rateLimit()` or `createRateLimit()`, which all threads call in the same order.
    return `#${this.#unnamed++}`;
  }
}
