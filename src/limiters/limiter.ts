import type { SharedEvent } from '../memory/event.ts';
import { shown } from '../options.ts';
import type { Clock } from '../time/clock.ts';
import type { Decision } from './state.ts';

/** Options of `wait`. */
export interface WaitOptions {
  /**
   * Maximum wait in milliseconds, >= 0: fail at once if it would take longer. A semaphore, which
   * cannot know, fails when it is over. Default Infinity.
   */
  readonly timeoutMs?: number;
  /** Aborts the wait; the promise rejects with the signal's reason. */
  readonly signal?: AbortSignal;
  /**
   * Fail at once with `ERR_QUEUE_FULL`, taking nothing, if the call would have to wait and this
   * many callers of this thread already wait for this limiter: an integer >= 0, or Infinity, the
   * default. 0 never waits. Give less important callers lower values, so that they give up first.
   */
  readonly maxWaiting?: number;
  /**
   * Wake within microseconds of the due instant, at the cost of spinning before it. Default false.
   */
  readonly strict?: boolean;
  /**
   * Wake tens of microseconds late, without spinning, instead of up to about a millisecond late.
   * Costs processor time: `wait` uses one extra thread per process, in Node.js; `waitSync` lowers
   * its thread's timer slack, on Linux. Default: true for `waitSync`; for `wait`, true for strict
   * waits and those shorter than 2 ms, from the second within 10 s. `ZEROTIME_PRECISE` in the
   * environment sets the default for all: 1 for true, 0 for false.
   */
  readonly precise?: boolean;
}

/** Options of `waitSync`, as for `wait`. */
export type BlockingWaitOptions = Pick<WaitOptions, 'timeoutMs' | 'strict' | 'precise'>;

/** The result of `wait`. */
export interface Waited {
  /**
   * Milliseconds from the call until the tokens were granted, by the limiter's clock, fractions
   * included; 0 if they were available at once.
   */
  readonly waitedMs: number;
}

/** Taken tokens that can still be returned. */
export interface Grant {
  /**
   * Puts the tokens back if their instant has not passed and no other call has taken any since.
   * Returns whether it did.
   */
  cancel(): boolean;
}

/** The methods common to all limiters. */
export interface Limiter {
  /** The clock, the same one for all threads of this limiter. */
  readonly clock: Clock;
  /** Takes `n` tokens now and returns true, or takes none and returns false. */
  tryConsume(n?: number): boolean;
  /** Takes `n` tokens now or none, and reports the state of the limiter. */
  decide(n?: number): Decision;
  /** Waits until `n` tokens are available, and takes them. */
  wait(n?: number, options?: WaitOptions): Promise<Waited>;
  /**
   * Blocks until `n` tokens are available, and takes them; false if that would exceed `timeoutMs`.
   */
  waitSync(n?: number, options?: BlockingWaitOptions): boolean;
  /** Number of callers of this thread waiting in `wait` on this object. */
  readonly waiting: number;
  /** Returns the tokens that can be taken now. */
  available(): number;
  /** The most tokens that one call can ever take. */
  readonly limit: number;
  /**
   * Returns the milliseconds until `tokens` can be taken if no one else takes any: 0 if they can
   * now, Infinity if they never can.
   */
  timeUntil(tokens: number): number;
}

/** Whether a limiter has a limit for each key, and its calls take the key first. */
export function isKeyed(limiter: unknown): limiter is { for(key: never): unknown } {
  return typeof (limiter as { readonly for?: unknown } | undefined | null)?.for === 'function';
}

/** @throws TypeError for a keyed limiter, naming the parameter. */
export function checkUnkeyed(name: string, limiter: unknown): void {
  if (!isKeyed(limiter)) return;
  throw new TypeError(`${name} must be the limiter of one key, such as keyed.for(key)`);
}

/**
 * Returns a limiter that has these methods and answers at once.
 *
 * @throws TypeError for another value, such as a keyed limiter or one on a server.
 */
export function checkLimiter<T>(limiter: T, ...methods: readonly (keyof Limiter & keyof T)[]): T {
  checkAtOnce('limiter', limiter);
  checkUnkeyed('limiter', limiter);
  const hasMethods = methods.every((name) => typeof limiter?.[name] === 'function');
  // A limiter on a server has no clock.
  const { clock } = (limiter ?? {}) as { readonly clock?: Partial<Clock> };
  if (hasMethods && typeof clock?.now === 'function') return limiter;
  throw new TypeError(`limiter must be a limiter, got ${shown(limiter)}`);
}

/** The tokens that a limiter can take back: any, those of the current window, or none. */
export type Takeback = 'any' | 'current' | 'none';

/** What `allOf` needs of a limiter. `n` is valid, but may exceed the limit. */
export interface Part extends Limiter {
  /** @internal */
  readonly takeback: Takeback;
  /**
   * Its state, with the same identity for all limiters on it in this thread; and the number of the
   * limit that applies, if the state has tiers.
   *
   * @internal
   */
  readonly at: { readonly identity: string; readonly tier?: number };
  /** Fires when the limit changes. @internal */
  readonly changes: SharedEvent;
  /**
   * Takes `n` tokens, or none, at a reading that the caller made during its call; without one, the
   * limiter reads the clock itself. Windows always do.
   *
   * @internal
   */
  take(n: number, nowUs?: number): boolean;
  /** Identifies this thread's latest take, for {@link giveBack}. @internal */
  receipt(): object | undefined;
  /** Takes tokens back if that is exact; otherwise they lapse. @internal */
  giveBack(n: number, receipt: object | undefined): void;
}

export function isPart(limiter: unknown): limiter is Part {
  return (limiter as Partial<Part> | null | undefined)?.takeback !== undefined;
}

/**
 * Marks limiters on a server, whose answers are promises: a promise counts as true where an answer is
 * needed at once. The same symbol in all copies of the package.
 */
export const PROMISES: unique symbol = Symbol.for('zerotime.promises') as never;

/** Whether a limiter has the mark. */
export function isPromising(limiter: unknown): boolean {
  return (limiter as { readonly [PROMISES]?: unknown } | null | undefined)?.[PROMISES] === true;
}

function isAsync(method: unknown): boolean {
  return Object.prototype.toString.call(method) === '[object AsyncFunction]';
}

/** Whether an answer is a promise, of any library. */
export function isPromise(answer: unknown): answer is PromiseLike<unknown> {
  return typeof (answer as Partial<PromiseLike<unknown>> | null | undefined)?.then === 'function';
}

/**
 * Refuses a limiter whose answers are promises, where they are needed at once.
 *
 * @param answers that it has given, if it was asked
 * @throws TypeError naming the parameter.
 */
export function checkAtOnce(
  name: string,
  limiter: unknown,
  answers: readonly unknown[] = [],
): void {
  const { tryConsume } = (limiter ?? {}) as { readonly tryConsume?: unknown };
  const promises = answers.filter(isPromise);
  // Nobody waits for them, so their errors must not end the process.
  for (const promise of promises) promise.then(undefined, () => undefined);
  if (!isPromising(limiter) && !isAsync(tryConsume) && promises.length === 0) return;
  throw new TypeError(`${name} must answer at once, got one whose answers are promises`);
}
