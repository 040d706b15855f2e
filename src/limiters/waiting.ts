import { RateLimitError } from '../errors.ts';
import { checkFlag, checkObject, checkSpanMs } from '../options.ts';
import type { Clock } from '../time/clock.ts';
import type { WaitOptions } from './limiter.ts';

/** Wait options, checked and with their defaults. */
export interface Wait {
  readonly timeoutMs: number;
  readonly strict: boolean;
  readonly signal: AbortSignal | undefined;
}

/** @throws TypeError, RangeError for an option out of its range, naming it. */
export function checkWait(options: WaitOptions): Wait {
  const { timeoutMs = Number.POSITIVE_INFINITY, signal, strict } = checkObject('options', options);
  checkSpanMs('timeoutMs', timeoutMs);
  if (signal !== undefined && typeof signal?.throwIfAborted !== 'function') {
    throw new TypeError('signal must be an AbortSignal');
  }
  return { timeoutMs, strict: checkFlag('strict', strict, false), signal };
}

export function timedOut(n: number, timeoutMs: number): RateLimitError {
  return new RateLimitError(
    'ERR_RATE_LIMIT_TIMEOUT',
    `n = ${n} cannot be granted within timeoutMs, ${timeoutMs}`,
  );
}

export function exceeds(n: number, limit: number): RateLimitError {
  return new RateLimitError(
    'ERR_EXCEEDS_BURST',
    `n = ${n} is more than can ever be granted at once, ${limit}`,
  );
}

/** What an {@link Attempt} returns when it has its tokens. */
export const TAKEN = Number.NEGATIVE_INFINITY;

/**
 * How a limiter that makes no promises for later takes its tokens: returns {@link TAKEN}, or the
 * clock's instant at which a retry can succeed at the earliest, in microseconds: Infinity for never.
 */
export type Attempt = (n: number) => number;

/** The instant to try again; undefined if it lies past the deadline. */
function attemptBy(
  attempt: Attempt,
  n: number,
  limit: number,
  deadlineUs: number,
): number | undefined {
  const retryAtUs = attempt(n);
  if (retryAtUs === Number.POSITIVE_INFINITY) throw exceeds(n, limit);
  return retryAtUs > deadlineUs ? undefined : retryAtUs;
}

/** Tries, sleeps until a retry can succeed at the earliest, and tries again. */
export async function retry(
  clock: Clock,
  attempt: Attempt,
  n: number,
  limit: number,
  { timeoutMs, strict, signal }: Wait,
): Promise<void> {
  const deadlineUs = clock.now() + timeoutMs * 1000;
  for (;;) {
    signal?.throwIfAborted();
    const retryAtUs = attemptBy(attempt, n, limit, deadlineUs);
    if (retryAtUs === TAKEN) return;
    if (retryAtUs === undefined) throw timedOut(n, timeoutMs);
    await clock.sleep(retryAtUs, { strict, signal });
  }
}

/** {@link retry}, blocking the thread; false if it would be too late. */
export function retrySync(
  clock: Clock,
  attempt: Attempt,
  n: number,
  limit: number,
  { timeoutMs, strict }: Wait,
): boolean {
  const deadlineUs = clock.now() + timeoutMs * 1000;
  for (;;) {
    const retryAtUs = attemptBy(attempt, n, limit, deadlineUs);
    if (retryAtUs === TAKEN) return true;
    if (retryAtUs === undefined) return false;
    clock.sleepSync(retryAtUs, { strict });
  }
}
