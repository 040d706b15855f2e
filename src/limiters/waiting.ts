import { RateLimitError } from '../errors.ts';
import { checkOptions, joined, type Known } from '../known-options.ts';
import type { ObservedEvent, SharedEvent } from '../memory/event.ts';
import { checkFlag, checkNumber, checkSpanMs } from '../options.ts';
import type { BlockingSleepOptions, Clock } from '../time/clock.ts';
import { preciseByDefault } from '../time/precise.ts';
import type { BlockingWaitOptions, Limiter, Waited, WaitOptions } from './limiter.ts';
import { refused } from './refused.ts';

/** Checked wait options with defaults. */
export interface Wait {
  readonly timeoutMs: number;
  readonly maxWaiting: number;
  readonly strict: boolean;
  readonly precise: boolean | undefined;
  readonly signal: AbortSignal | undefined;
}

export const BLOCKING_WAIT: Known<BlockingWaitOptions> = {
  timeoutMs: true,
  strict: true,
  precise: true,
};

export const WAIT: Known<WaitOptions> = /* @__PURE__ */ joined(BLOCKING_WAIT, {
  maxWaiting: true,
  signal: true,
});

/** @throws TypeError, RangeError for an invalid option, naming it. */
export function checkWait(options: WaitOptions, known: Partial<typeof WAIT> = WAIT): Wait {
  checkOptions(options, known as typeof WAIT);
  const {
    timeoutMs = Number.POSITIVE_INFINITY,
    maxWaiting = Number.POSITIVE_INFINITY,
    signal,
    strict,
    precise,
  } = options;
  if (signal !== undefined && typeof signal?.throwIfAborted !== 'function') {
    throw new TypeError('signal must be an AbortSignal');
  }
  return {
    timeoutMs: checkSpanMs('timeoutMs', timeoutMs),
    maxWaiting:
      maxWaiting === Number.POSITIVE_INFINITY
        ? maxWaiting
        : checkNumber('maxWaiting', maxWaiting, { min: 0, integer: true }),
    strict: checkFlag('strict', strict, false),
    precise: checkFlag('precise', precise, preciseByDefault()),
    signal,
  };
}

export function timedOut(n: number, timeoutMs: number, options?: ErrorOptions): RateLimitError {
  return new RateLimitError(
    'ERR_RATE_LIMIT_TIMEOUT',
    `n = ${n} cannot be granted within timeoutMs = ${timeoutMs}`,
    options,
  );
}

export function exceeds(n: number, limit: number): RateLimitError {
  return new RateLimitError('ERR_EXCEEDS_BURST', `n must be at most ${limit}, got ${n}`);
}

/** @throws RateLimitError if a limit can never grant `n`; a limit of 0 is a pause. */
export function checkPossible(n: number, limit: number): void {
  if (n > limit && limit > 0) throw exceeds(n, limit);
}

export function queueFull(maxWaiting: number): RateLimitError {
  return new RateLimitError('ERR_QUEUE_FULL', `the queue is full: maxWaiting is ${maxWaiting}`);
}

/** The result of a wait that was granted at once. */
export const AT_ONCE: Waited = Object.freeze({ waitedMs: 0 });

/** The result of a wait that began at an instant; 0 ms if the clock has stepped back. */
export function waitedSince(clock: Clock, startUs: number): Waited {
  return { waitedMs: Math.max(0, clock.now() - startUs) / 1000 };
}

/** Counts this thread's waiting callers: those of one limiter, or of each key. */
export class Waiters {
  #count = 0;
  /** Only keys with waiting callers. */
  readonly #ofKey = new Map<string, number>();

  /** Number of waiting callers of all keys. */
  get count(): number {
    return this.#count;
  }

  /** Number of waiting callers of one key. */
  of(key: string): number {
    return this.#ofKey.get(key) ?? 0;
  }

  /** Counts a caller until it leaves. The caller has compared {@link of} with its `maxWaiting`. */
  enter(key = ''): void {
    this.#count++;
    this.#ofKey.set(key, this.of(key) + 1);
  }

  leave(key = ''): void {
    this.#count--;
    const count = this.of(key) - 1;
    if (count > 0) this.#ofKey.set(key, count);
    else this.#ofKey.delete(key);
  }
}

/** An event, and as it was observed. */
export interface Watch {
  readonly changes: SharedEvent;
  readonly observed: ObservedEvent;
}

/** Wakes the waiting callers of all threads after a change, to look again. */
export function announce(limiter: { readonly changes: SharedEvent; readonly clock: Clock }): void {
  limiter.changes.fire();
  limiter.clock.rouse?.();
}

/** Puts a new limit in force, which `change` computes from the current one, and wakes all callers. */
export function putInForce<Change>(
  limiter: { readonly changes: SharedEvent; readonly clock: Clock },
  kernel: { reconfigure(readClock: () => number, change: Change): void },
  change: Change,
): void {
  kernel.reconfigure(() => limiter.clock.now(), change);
  announce(limiter);
}

/** Call this before reading the limit, so that no change in between is missed. */
export function watch(changes: SharedEvent): Watch {
  return { changes, observed: changes.observe() };
}

/** A thread may end between changing a limit and firing the event, so look again after this time. */
const LOOK_MS = 1000;

/** Blocks the thread until an instant or the event, for a second at most. */
export function sleepOrLook(
  clock: Clock,
  nowUs: number,
  untilUs: number,
  options: BlockingSleepOptions,
): void {
  const lookUs = nowUs + Math.min(options.event?.lookMs ?? LOOK_MS, LOOK_MS) * 1000;
  if (untilUs <= lookUs) clock.sleepSync(untilUs, options);
  else clock.sleepSync(lookUs, { ...options, strict: false });
}

/** The retry instant while the limit is 0: only a change can let a retry succeed. */
export const NO_INSTANT_US = Number.MAX_VALUE;

/** When a refused call can be retried. */
export interface Refusal {
  /**
   * The earliest instant at which a retry can succeed, in microseconds; {@link NO_INSTANT_US}, or
   * Infinity if it never can.
   */
  readonly retryAtUs: number;
  /** Reports a change that may make that instant earlier. */
  readonly watch?: Watch | undefined;
}

/** A limiter that cannot reserve ahead, as its waiters see it. */
export interface Source extends Pick<Limiter, 'clock' | 'limit' | 'timeUntil'> {
  /** Takes `n` tokens, or none. @internal */
  attempt(n: number): boolean;
  /**
   * The refusal that an attempt would meet now; its instant may have passed. Takes nothing.
   * @internal
   */
  look(n: number): Refusal;
  /** Counts a wait that has ended, if its attempts do not count. @internal */
  countWait?(n: number, isTaken: boolean): void;
}

/** Pauses, in microseconds, after attempts that failed although the tokens seemed available. */
const PAUSE_US = { min: 50, max: 10_000 } as const;

/** Computes when to try again: never at once, because another thread must act first. */
export class Pauses {
  #pauseUs: number = PAUSE_US.min;

  retryAtUs({ retryAtUs }: Refusal, nowUs: number): number {
    const pauseUs = this.#pauseUs;
    if (retryAtUs > nowUs) {
      this.#pauseUs = PAUSE_US.min;
      return retryAtUs === NO_INSTANT_US ? Number.POSITIVE_INFINITY : retryAtUs;
    }
    this.#pauseUs = Math.min(2 * pauseUs, PAUSE_US.max);
    return nowUs + pauseUs;
  }
}

type BlockingWait = Omit<Wait, 'maxWaiting' | 'signal'>;

/** Blocks the thread until an attempt succeeds; returns false if that would exceed the timeout. */
export function waitHere(source: Source, n: number, wait: BlockingWait): boolean {
  let isTaken = false;
  try {
    isTaken = isTakenInTime(source, n, wait);
  } finally {
    source.countWait?.(n, isTaken);
  }
  return isTaken || refused(source, n);
}

function isTakenInTime(
  source: Source,
  n: number,
  { timeoutMs, strict, precise }: BlockingWait,
): boolean {
  const { clock } = source;
  const deadlineUs = clock.now() + timeoutMs * 1000;
  const pauses = new Pauses();
  while (!source.attempt(n)) {
    const refusal = source.look(n);
    if (refusal.retryAtUs === Number.POSITIVE_INFINITY) throw exceeds(n, source.limit);
    const nowUs = clock.now();
    const retryAtUs = pauses.retryAtUs(refusal, nowUs);
    if (retryAtUs > deadlineUs) return false;
    sleepOrLook(clock, nowUs, retryAtUs, { strict, precise, event: refusal.watch?.observed });
  }
  return true;
}
