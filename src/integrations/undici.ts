import type { Dispatcher } from 'undici';
import type { Key } from '../kernel/keyed/hash.ts';
import { checkPeer } from '../peers.ts';
import {
  checkOutgoing,
  keyBy,
  OUTGOING_OPTIONS,
  type OutgoingOptions,
} from './outgoing/options.ts';
import { type Turn, Turns } from './outgoing/turns.ts';
import { onBodyError, Pending, watched } from './undici/handlers.ts';

// Entry point `zerotime/undici`. Imports only types from undici: you create the dispatcher.

export type {
  OutgoingKeyedLimiter,
  OutgoingLimiter,
  OutgoingOptions,
} from './outgoing/options.ts';

/** Options of {@link rateLimit}. Pass a `limiter`, a `semaphore` or both. */
export interface RateLimitOptions extends OutgoingOptions {
  /**
   * The key of a request: `'origin'`, such as `https://api.example.com`, or a function of its
   * undici options. A keyed limiter has one limit per key, and `Retry-After` pauses one key.
   * Default: `'origin'` with a keyed limiter; otherwise all requests share one key.
   */
  readonly key?: 'origin' | ((request: Dispatcher.DispatchOptions) => Key);
}

/** A composed `Client` may omit its own origin. */
function originOf({ origin }: Dispatcher.DispatchOptions): string {
  if (origin === undefined) return '';
  return (typeof origin === 'string' ? new URL(origin) : origin).origin;
}

/**
 * An undici interceptor that limits requests over all threads that share the limiter and the
 * semaphore. Each request takes a token and a permit before it is sent. The permit is returned
 * when the response's body has arrived or failed. Undici reads 64 KiB ahead, so read or destroy
 * larger bodies. A request that is aborted while it waits, or that cannot start within `timeoutMs`,
 * fails with the abort's reason or a RateLimitError, and takes nothing; a token reserved for it lapses
 * if another thread has taken a later one.
 *
 * A response with status 429, or 503 with `Retry-After`, pauses the requests of its key: in all
 * threads with a keyed limiter or the bucket of one key, otherwise in this thread.
 *
 * Put it before interceptors that repeat requests, such as `retry` and `redirect`, so that each
 * attempt takes its own token.
 *
 * @example
 * ```ts
 * import { Agent, interceptors, request } from 'undici';
 * import { rateLimit } from 'zerotime/undici';
 *
 * const limiter = KeyedTokenBucket.create({ rate: 10, burst: 20, capacity: 1000 });
 * const semaphore = Semaphore.create({ permits: 50 });
 * const dispatcher = new Agent().compose(
 *   rateLimit({ limiter, semaphore, timeoutMs: 5000 }), // 10 per second and origin
 *   interceptors.retry(),
 * );
 * const { body } = await request('https://api.example.com/items', { dispatcher });
 * await body.json();
 * ```
 * @throws TypeError, RangeError for an invalid option.
 */
export function rateLimit(options: RateLimitOptions): Dispatcher.DispatcherComposeInterceptor {
  checkPeer('zerotime/undici', 'undici');
  const outgoing = checkOutgoing(options, { ...OUTGOING_OPTIONS, key: true });
  const keyOf = keyBy(options.key, outgoing.limiter, originOf);
  const turns = new Turns(outgoing);
  return (dispatch) => (request, handler) => {
    const key = keyOf(request);
    const pending = new Pending(handler);
    const send = (turn: Turn) => {
      try {
        return dispatch(request, watched(handler, pending, turn));
      } catch (error) {
        turn.ended([error]);
        throw error;
      }
    };
    const turn = turns.take(key);
    if (turn !== undefined) return send(turn);
    const later = async () => {
      const unlink = onBodyError(request.body, (error) => pending.abort(error));
      try {
        pending.announce();
        send(await turns.wait(key, pending.signal));
      } catch (error) {
        pending.fail(error);
      } finally {
        unlink();
      }
    };
    later();
    return true;
  };
}
