import type { Key } from '../kernel/keyed/hash.ts';
import { checkFunction } from '../options.ts';
import { heldResponse } from './fetch/held-response.ts';
import {
  checkOutgoing,
  keyBy,
  OUTGOING_OPTIONS,
  type OutgoingOptions,
} from './outgoing/options.ts';
import { Turns } from './outgoing/turns.ts';

// Entry point `zerotime/fetch`. Uses only interfaces of the web platform.

export type {
  OutgoingKeyedLimiter,
  OutgoingLimiter,
  OutgoingOptions,
} from './outgoing/options.ts';
export type { ByteLimiter } from './streams/byte-limiter.ts';
export {
  type ThrottledWebStream,
  type ThrottleWebStreamOptions,
  throttleWebStream,
} from './streams/web.ts';

/** Options of {@link rateLimitedFetch}. Pass a `limiter`, a `semaphore` or both. */
export interface RateLimitedFetchOptions extends OutgoingOptions {
  /**
   * The key of a request: `'origin'`, such as `https://api.example.com`, or a function of its URL.
   * A keyed limiter has one limit per key, and `Retry-After` pauses one key. Default: `'origin'`
   * with a keyed limiter; otherwise all requests share one key.
   */
  readonly key?: 'origin' | ((url: URL) => Key);
  /** The function that sends the requests. Default: the global `fetch` of each call. */
  readonly fetch?: typeof fetch;
}

/** As in `fetch`, anything else is a URL. */
function isRequest(input: Parameters<typeof fetch>[0]): input is Request {
  return typeof input === 'object' && 'url' in input;
}

function urlOf(input: Parameters<typeof fetch>[0]): URL {
  if (input instanceof URL) return input;
  // Relative URLs are resolved against the page's address.
  const { location } = globalThis as { readonly location?: { readonly href: string } };
  return new URL(isRequest(input) ? input.url : String(input), location?.href);
}

function signalOf(
  input: Parameters<typeof fetch>[0],
  init: RequestInit | undefined,
): AbortSignal | undefined {
  if (init?.signal !== undefined) return init.signal ?? undefined;
  return typeof input === 'object' && 'signal' in input ? input.signal : undefined;
}

/**
 * Returns a `fetch` that limits requests over all threads that share the limiter and the semaphore.
 * Each request takes a token and a permit before it is sent. The permit is returned when the
 * response's body has arrived, failed or been cancelled. Read or cancel bodies above 64 KiB:
 * unread, they keep their permit until they end or are garbage collected.
 *
 * A call that is aborted while it waits, or that cannot start within `timeoutMs`, takes
 * nothing; a token reserved for it lapses if another thread has taken a later one. A
 * response with status 429, or 503 with `Retry-After`, pauses the requests of its key: in all
 * threads with a keyed limiter or the bucket of one key, otherwise in this thread. Redirects that
 * `fetch` follows take no tokens.
 *
 * @example
 * ```ts
 * import { rateLimitedFetch } from 'zerotime/fetch';
 *
 * const limiter = KeyedTokenBucket.create({ rate: 10, burst: 20, capacity: 1000 });
 * const fetch = rateLimitedFetch({ limiter, timeoutMs: 5000 }); // 10 per second and origin
 * const response = await fetch('https://api.example.com/items');
 * await response.json();
 * ```
 * @throws TypeError, RangeError for an invalid option. The returned function rejects with a
 *   RateLimitError `ERR_RATE_LIMIT_TIMEOUT` or `ERR_QUEUE_FULL`.
 */
export function rateLimitedFetch(options: RateLimitedFetchOptions): typeof fetch {
  const outgoing = checkOutgoing(options, { ...OUTGOING_OPTIONS, key: true, fetch: true });
  if (options.fetch !== undefined) checkFunction('fetch', options.fetch);
  const keyOf = keyBy<URL>(options.key, outgoing.limiter, ({ origin }) => origin);
  const turns = new Turns(outgoing);
  return async (input: Parameters<typeof fetch>[0], init?: RequestInit) => {
    const send = options.fetch ?? globalThis.fetch;
    const key = keyOf(urlOf(input));
    const signal = signalOf(input, init);
    signal?.throwIfAborted();
    const turn = turns.take(key) ?? (await turns.wait(key, signal));
    try {
      const response = await send(input, init);
      const { status, headers } = response;
      const retryAfter = headers.get('retry-after') ?? undefined;
      turn.answered({ status, retryAfter, date: headers.get('date') ?? undefined });
      return heldResponse(response, (_, error) => turn.ended(error));
    } catch (error) {
      turn.ended([error]);
      throw error;
    }
  };
}
