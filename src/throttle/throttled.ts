import { checkOptions, joined, type Known } from '../known-options.ts';
import { checkFunction } from '../options.ts';
import { checkSignal, type ThrottleStats, type Work } from './call.ts';
import { type CloseOptions, Dispatcher } from './dispatcher.ts';
import {
  type BoundOptions,
  checkQueue,
  type PerCall,
  perCall,
  QUEUE_OPTIONS,
  type QueueOptions,
} from './options.ts';

/** Options of {@link throttled}. At least one of `limiter` and `semaphore` is required. */
export interface ThrottledOptions<Args extends readonly unknown[] = readonly unknown[]>
  extends QueueOptions<Args>,
    BoundOptions {
  /**
   * Aborts waiting calls; they reject with the signal's reason. Later calls reject
   * too. A function of the arguments gives each call its own signal.
   */
  readonly signal?: PerCall<Args, AbortSignal | undefined>;
}

/** A function whose calls start as its limits allow. Created by {@link throttled}. */
export interface Throttled<This, Args extends readonly unknown[], Result> {
  /**
   * Calls the function at once if possible, otherwise when it is this call's turn. Resolves with
   * the function's result, or rejects with its error.
   *
   * @throws RateLimitError `ERR_QUEUE_FULL`, at once, if `maxQueue` calls wait;
   * `ERR_RATE_LIMIT_TIMEOUT` if the call cannot start within `timeoutMs`; `ERR_THROTTLE_CLOSED`
   * after a close; `ERR_EXCEEDS_BURST` if the limiter can never grant a token;
   * `ERR_PERMIT_EXPIRED` if the function took longer than the semaphore's `holdMs`. A call that does
   * not start takes no permit. A token reserved for it goes to another call or back to the limiter;
   * it lapses if that takes none back, or if another holder has reserved a later one.
   */
  (this: This, ...args: Args): Promise<Awaited<Result>>;
  /** Number of calls waiting to start. */
  readonly queueSize: number;
  /** Milliseconds that the longest waiting call has waited; 0 if none waits. */
  readonly oldestMs: number;
  /** The number of calls in each state. */
  stats(): ThrottleStats;
  /** Resolves when no call waits or runs. */
  drain(): Promise<void>;
  /** Refuses later calls. Resolves when earlier ones have ended. */
  close(options?: CloseOptions): Promise<void>;
}

const OPTIONS: Known<ThrottledOptions> = /* @__PURE__ */ joined(QUEUE_OPTIONS, { signal: true });

/** A call of a throttled function. */
interface Invocation<This, Args> {
  readonly self: This;
  readonly args: Args;
}

/**
 * Wraps a function so that its calls start at the rate of a limiter, with at most as many in
 * flight as a semaphore has permits. Calls that cannot start wait in a queue. The function can be
 * synchronous or asynchronous; `this` and the arguments pass through.
 *
 * A call holds no permit while it waits for its token. A call that does not start takes no
 * permit. Calls with the same priority and key start in the order in which they were made.
 *
 * The limits hold for all threads that share the limiter and the semaphore; the queue is this
 * function's own.
 *
 * @example
 * ```ts
 * import { throttled } from 'zerotime/throttle';
 *
 * const limiter = TokenBucket.create({ rate: 100, burst: 10 });
 * const fetchJson = throttled(
 *   async (path: string, tenant: string) => (await fetch(new URL(path, url))).json(),
 *   { limiter, maxQueue: 1000, timeoutMs: 5000, key: (_path, tenant) => tenant },
 * );
 * const orders = await fetchJson('/orders', 'ann');
 * ```
 * @throws TypeError, RangeError for an invalid argument, naming it.
 */
export function throttled<This, Args extends readonly unknown[], Result>(
  fn: (this: This, ...args: Args) => Result,
  options: ThrottledOptions<Args>,
): Throttled<This, Args, Result> {
  checkFunction('fn', fn);
  checkOptions<ThrottledOptions<Args>>(options, OPTIONS);
  const signalOf = perCall<Args, AbortSignal | undefined>(options.signal, checkSignal);
  const work: Work<Invocation<This, Args>> = {
    start: ({ self, args }) => Reflect.apply(fn, self, args),
    signalOf: ({ args }) => signalOf(...args),
  };
  const dispatcher = new Dispatcher(work, checkQueue(options));

  function throttledFn(this: This, ...args: Args): Promise<unknown> {
    return dispatcher.submit({ self: this, args });
  }
  const members = {
    name: { value: fn.name },
    queueSize: { get: () => dispatcher.length },
    oldestMs: { get: () => dispatcher.oldestMs },
    stats: { value: () => dispatcher.stats() },
    drain: { value: () => dispatcher.drain() },
    close: { value: (closing?: CloseOptions) => dispatcher.close(closing) },
  };
  return Object.defineProperties(throttledFn, members) as Throttled<This, Args, Result>;
}
