import { RateLimitError } from '../errors.ts';
import { checkFlag, checkObject, checkSpanMs } from '../options.ts';
import type { Clock } from '../time/clock.ts';
import type { WaitOptions } from './limiter.ts';
import { sleepOrChange, type Watch } from './moving-sleep.ts';

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

/** Why there were no tokens. */
export interface Refusal {
  /** When a retry can succeed at the earliest, in microseconds of the clock: Infinity for never. */
  readonly retryAtUs: number;
  /** Tells of a change that may bring that forward. */
  readonly watch?: Watch | undefined;
}

/** How a limiter that makes no promises for later takes its tokens: undefined when it has them. */
export type Attempt = (n: number) => Refusal | undefined;

function attemptOf(attempt: Attempt, n: number, limit: number): Refusal | undefined {
  const refusal = attempt(n);
  if (refusal?.retryAtUs === Number.POSITIVE_INFINITY) throw exceeds(n, limit);
  return refusal;
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
    const refusal = attemptOf(attempt, n, limit);
    if (refusal === undefined) return;
    const { retryAtUs, watch } = refusal;
    if (retryAtUs > deadlineUs) throw timedOut(n, timeoutMs);
    await sleepOrChange(clock, retryAtUs, watch, { strict, signal });
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
    const refusal = attemptOf(attempt, n, limit);
    if (refusal === undefined) return true;
    const { retryAtUs, watch } = refusal;
    if (retryAtUs > deadlineUs) return false;
    clock.sleepSync(retryAtUs, { strict, alarm: watch?.alarm });
  }
}
