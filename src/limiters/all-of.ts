import { shown } from '../options.ts';
import { isSameClock } from '../time/clock.ts';
import { checkAtOnce } from './at-once.ts';
import { CombinedLimiter } from './combined-limiter.ts';
import { LimitedSemaphore } from './limited-semaphore.ts';
import type { Limiter } from './limiter.ts';
import { isPart } from './part.ts';
import type { Semaphore } from './semaphore.ts';

/** Detects a semaphore without importing the class. */
function isSemaphore(part: unknown): part is Semaphore {
  return typeof (part as Partial<Semaphore> | null | undefined)?.watch === 'function';
}

/** Combines limiters into one, with nested combinations flattened. */
function combine(limiters: readonly unknown[], semaphore?: Semaphore): Limiter {
  const parts: Limiter[] = [];
  for (const [index, limiter] of limiters.entries()) {
    checkAtOnce(`limiters[${index}]`, limiter);
    if (!(limiter instanceof CombinedLimiter || isPart(limiter))) {
      const hint = isSemaphore(limiter) ? '; one semaphore at most, as the first argument' : '';
      throw new TypeError(`limiters[${index}] must be a limiter, got ${shown(limiter)}${hint}`);
    }
    parts.push(limiter);
    const { clock } = semaphore ?? parts[0] ?? limiter;
    if (!isSameClock(limiter.clock, clock)) {
      const [one, other] = [clock.name, limiter.clock.name];
      const got = one === other ? `two ${one} clocks` : `${one} and ${other}`;
      throw new TypeError(`all limiters must have the same clock, got ${got}`);
    }
  }
  const [first] = parts;
  if (first === undefined) throw new TypeError('allOf needs at least one limiter');
  // A single bucket reserves tokens in order over all threads, so it stays as it is.
  if (semaphore !== undefined && parts.length === 1) return first;
  return new CombinedLimiter(first.clock, CombinedLimiter.membersOf(parts));
}

/**
 * Combines a semaphore and limiters, which limit how many callers are in flight at once and how
 * many start per second.
 *
 * @throws TypeError if no limiter follows the semaphore, if an argument is not a limiter or is on a
 * server, or if the clocks differ.
 */
export function allOf(semaphore: Semaphore, ...limiters: Limiter[]): LimitedSemaphore;
/**
 * Combines limiters into one that admits a call only if all of them do, such as 10 per second AND
 * 100 per minute. A call takes tokens from all parts or from none.
 *
 * Tokens are taken from one part after the other, and returned if a later part refuses. Buckets
 * come first, because they can take back any tokens. Windows take back only tokens of the current
 * window and logs none, so they come last; tokens that cannot be returned lapse. A race between
 * threads can therefore briefly admit too little, never too much.
 *
 * A limiter given twice, even through two attachments, must grant twice the tokens.
 *
 * Callers of `wait` on this object form a line and are served in order. The head of the line tries
 * again when the slowest part can admit it at the earliest, or when that part's limit changes.
 * Other threads, `tryConsume` and `waitSync` do not join the line.
 *
 * Accepts any mix of limiters, including nested combinations. To share one across threads, attach
 * the parts in each thread and combine them there.
 *
 * @example
 * ```ts
 * const perSecond = TokenBucket.create({ rate: 10, burst: 10 });
 * const perMinute = TokenBucket.create({ rate: per(100, 'minute'), burst: 100 });
 * const both = allOf(perSecond, perMinute);
 * both.tryConsume();
 * ```
 * @throws TypeError if no limiter is given, if an argument is not one or is on a server, or if the
 * clocks differ.
 */
export function allOf(...limiters: Limiter[]): Limiter;
export function allOf(...parts: readonly unknown[]): Limiter | LimitedSemaphore {
  const [first, ...others] = parts;
  if (!isSemaphore(first)) return combine(parts);
  return new LimitedSemaphore(first, combine(others, first));
}
