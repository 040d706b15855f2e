import type { Known } from '../known-options.ts';
import type { CallOutcome } from '../limiters/adaptation.ts';
import { checkLimiter } from '../limiters/limiter.ts';
import { checkOutcomeOf, outcomeOfError } from '../limiters/permit.ts';
import { checkFunction, checkNumber, checkObject, checkSpanMs, shown } from '../options.ts';
import type { Clock } from '../time/clock.ts';
import type { DispatcherOptions } from './dispatcher.ts';
import type { Key } from './fair-queue.ts';
import type { PermitSource } from './lanes.ts';
import type { TaskLimiter } from './tokens.ts';

/** A value for all calls, or a function of the arguments of each. */
export type PerCall<Args extends readonly unknown[], T> = T | ((...args: Args) => T);

/** How calls wait: how many, how long, and in which order. */
export interface QueueOptions<Args extends readonly unknown[] = readonly unknown[]> {
  /** Maximum number of calls waiting to start: an integer >= 0. Default Infinity. */
  readonly maxQueue?: number;
  /**
   * Maximum time in milliseconds until a call starts; after that it fails. Default Infinity.
   */
  readonly timeoutMs?: number;
  /**
   * Calls with a higher priority start first. Any finite number, or a function of the arguments.
   * Default 0. While calls of m priorities wait, each priority gets at least one of any 8 (m - 1)
   * starts, so none starves. Use few different values: each waiting one makes adding a call slower.
   */
  readonly priority?: PerCall<Args, number>;
  /**
   * Calls with the same key start in order; different keys, such as tenants, take turns however
   * many calls each has. A string, a number or a function of the arguments. Default: one shared
   * key.
   */
  readonly key?: PerCall<Args, string | number | undefined>;
  /**
   * The share of each key: a key of weight 4 starts twice as many calls as one of weight 2 while
   * both have calls waiting. Numbers greater than 0; a key that is not listed has 1.
   */
  readonly weights?: Readonly<Record<string, number>>;
  /** Called with the arguments of a call that has to wait, before it waits. */
  readonly onDelay?: (...args: Args) => void;
}

/** The limits on the starts of calls: a limiter for how often, a semaphore for how many at once. */
export interface BoundOptions {
  /** Each call takes a token of this limiter before it starts. */
  readonly limiter?: TaskLimiter | undefined;
  /**
   * Each call holds a permit of this semaphore while it runs, and none while it waits for a token.
   */
  readonly semaphore?: PermitSource | undefined;
  /**
   * The outcome of a call that fails, for a semaphore that adapts. Default: `'dropped'` for errors
   * whose name, or that of their cause, ends in `TimeoutError`, `'ignore'` for others.
   */
  readonly outcomeOf?: ((error: unknown) => CallOutcome) | undefined;
}

/** The options common to throttled functions and pools. */
export const QUEUE_OPTIONS: Known<QueueOptions & BoundOptions> = {
  limiter: true,
  semaphore: true,
  outcomeOf: true,
  maxQueue: true,
  timeoutMs: true,
  priority: true,
  key: true,
  weights: true,
  onDelay: true,
};

/**
 * The clock of a limiter and a semaphore.
 *
 * @throws TypeError if there is neither, or the semaphore is none.
 */
export function clockOf(
  limiter: { readonly clock: Clock } | undefined,
  semaphore: PermitSource | undefined,
): Clock {
  const isSemaphore =
    typeof semaphore?.acquire === 'function' && typeof semaphore.tryAcquire === 'function';
  if (semaphore !== undefined && !isSemaphore) {
    throw new TypeError(`semaphore must be a Semaphore, got ${shown(semaphore)}`);
  }
  const clock = limiter?.clock ?? semaphore?.clock;
  if (clock === undefined) throw new TypeError('options must have a limiter or a semaphore');
  return clock;
}

function checkWeights(given: Readonly<Record<string, number>>): (key: Key) => number {
  const weights = { ...checkObject('weights', given) };
  for (const [key, weight] of Object.entries(weights)) {
    checkNumber(`weights[${JSON.stringify(key)}]`, weight, { above: 0 });
  }
  return (key) => {
    const name = String(key);
    return Object.hasOwn(weights, name) ? (weights[name] ?? 1) : 1;
  };
}

/** Checks the options of a dispatcher. */
export function checkQueue<Args extends readonly unknown[]>({
  limiter,
  semaphore,
  outcomeOf = outcomeOfError,
  maxQueue = Number.POSITIVE_INFINITY,
  timeoutMs = Number.POSITIVE_INFINITY,
  weights,
  priority = 0,
  key,
  onDelay,
}: QueueOptions<Args> & BoundOptions): DispatcherOptions<Args> {
  if (limiter !== undefined) checkLimiter(limiter, 'wait', 'tryConsume');
  const clock = clockOf(limiter, semaphore);
  checkOutcomeOf(outcomeOf);
  if (maxQueue !== Number.POSITIVE_INFINITY) {
    checkNumber('maxQueue', maxQueue, { min: 0, integer: true });
  }
  checkSpanMs('timeoutMs', timeoutMs);
  const weightOf = weights === undefined ? () => 1 : checkWeights(weights);
  if (onDelay !== undefined) checkFunction('onDelay', onDelay);
  return {
    ...{ limiter, semaphore, clock, maxQueue, timeoutMs, weightOf, outcomeOf, onDelay },
    priorityOf: perCall<Args, number>(priority, checkPriority),
    keyOf: perCall<Args, Key>(key, checkKey),
  };
}

/** The value of an option for each call. Values are checked when they are known. */
export function perCall<Args extends readonly unknown[], T>(
  option: PerCall<Args, T>,
  check: (value: T) => T,
): (...args: Args) => T {
  if (typeof option === 'function') {
    const choose = option as (...args: Args) => T;
    return (...args) => check(choose(...args));
  }
  check(option);
  return () => option;
}

function checkKey(key: Key): Key {
  if (key === undefined || typeof key === 'string' || typeof key === 'number') return key;
  throw new TypeError(`key must be a string or a number, got ${shown(key)}`);
}

function checkPriority(priority: number): number {
  return checkNumber('priority', priority);
}
