// Entry point `zerotime/undici`. It imports only types from undici: you create the dispatcher.
import type { Dispatcher } from 'undici';
import type { Key } from '../kernel/keyed/message.ts';
import {
  checkOutgoing,
  keyBy,
  OUTGOING_OPTIONS,
  type OutgoingOptions,
} from './outgoing/options.ts';
import type { Turn } from './outgoing/turn.ts';
import { Turns } from './outgoing/turns.ts';
import { onBodyError } from './undici/body.ts';
import { Pending } from './undici/pending.ts';
import { watched } from './undici/watched.ts';

export type {
  OutgoingKeyedLimiter,
  OutgoingLimiter,
  OutgoingOptions,
} from './outgoing/options.ts';

/** Options of {@link rateLimit}. Pass a `limiter`, a `semaphore` or both. */
export interface RateLimitOptions extends OutgoingOptions {
  /**
   * The key of a request: `'origin'`, such as `https://api.example.com`, or a function of undici's
   * options of the request. It names the limit of a keyed limiter, and what `Retry-After` holds up.
   * Default: `'origin'` with a keyed limiter; otherwise all requests have one key.
   */
  readonly key?: 'origin' | ((request: Dispatcher.DispatchOptions) => Key);
}

/** A client that is composed on its own origin need not name it. */
function originOf({ origin }: Dispatcher.DispatchOptions): string {
  if (origin === undefined) return '';
  return (typeof origin === 'string' ? new URL(origin) : origin).origin;
}

/**
 * An undici interceptor that limits requests, over all threads that attach to the same limiter and
 * semaphore. A request takes a permit and then a token before it is sent; its permit comes back
 * when the response's body has arrived or failed. Undici reads at most 64 KiB ahead, so read larger
 * bodies or destroy them. A request that waits and is aborted, or that cannot start within
 * `timeoutMs`, takes nothing and fails.
 *
 * A response of status 429, or 503 with `Retry-After`, holds up the requests of its key: over all
 * threads with a keyed limiter or the bucket of one key, otherwise in this thread.
 *
 * Put it before the interceptors that send requests again, such as `retry` and `redirect`, so that
 * each attempt takes a token of its own.
 *
 * @example
 * ```ts
 * import { Agent, interceptors, request } from 'undici';
 * import { rateLimit } from 'zerotime/undici';
 *
 * const limiter = KeyedTokenBucket.create({ rate: 10, burst: 20, capacity: 1000 });
 * const semaphore = Semaphore.create({ permits: 50 });
 * const dispatcher = new Agent().compose(
 *   rateLimit({ limiter, semaphore, timeoutMs: 5000 }), // 10 a second for each origin
 *   interceptors.retry(),
 * );
 * const { body } = await request('https://api.example.com/items', { dispatcher });
 * await body.json();
 * ```
 * @throws TypeError, RangeError for an invalid option, naming it.
 */
export function rateLimit(options: RateLimitOptions): Dispatcher.DispatcherComposeInterceptor {
  const outgoing = checkOutgoing(options, { ...OUTGOING_OPTIONS, key: true });
  const keyOf = keyBy(options.key, outgoing.limiter, originOf);
  const turns = new Turns(outgoing);
  return (dispatch) => (request, handler) => {
    const key = keyOf(request);
    const pending = new Pending(handler);
    const send = (turn: Turn) => {
      const ended = () => turn.release();
      const answered = (answer: Parameters<Turns['heed']>[1]) => turns.heed(key, answer);
      const started = (abort: (reason: Error) => void) => pending.started(abort);
      try {
        return dispatch(request, watched(handler, { started, answered, ended }));
      } catch (error) {
        ended();
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
