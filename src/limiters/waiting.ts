import { RateLimitError } from '../errors.ts';
import { checkFlag, checkObject, checkSpanMs } from '../options.ts';
import type { Clock } from '../time/clock.ts';
import type { WaitOptions } from './limiter.ts';
import { sleepOrChange, type Watch } from './moving-sleep.ts';

/** Checked wait options with defaults. */
export interface Wait {
  readonly timeoutMs: number;
  readonly strict: boolean;
  readonly signal: AbortSignal | undefined;
}

/** @throws TypeError, RangeError for an invalid option, naming it. */
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

/** Describes when a refused call may be retried. */
export interface Refusal {
  /**
   * The earliest instant at which a retry can succeed, in microseconds; Infinity if it never can.
   */
  readonly retryAtUs: number;
  /** Reports a change that may move that instant forward. */
  readonly watch?: Watch | undefined;
}

/** Takes tokens from a limiter that cannot reserve ahead: undefined if it succeeds. */
export type Attempt = (n: number) => Refusal | undefined;

function attemptOf(attempt: Attempt, n: number, limit: number): Refusal | undefined {
  const refusal = attempt(n);
  if (refusal?.retryAtUs === Number.POSITIVE_INFINITY) throw exceeds(n, limit);
  return refusal;
}

/** Tries, sleeps until a retry can succeed, and repeats. */
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

/** Like {@link retry}, but blocks the thread; returns false if it would exceed the timeout. */
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
