import { shown } from '../options.ts';
import { CombinedLimiter } from './combined-limiter.ts';
import { LimitedSemaphore } from './limited-semaphore.ts';
import type { Limiter } from './limiter.ts';
import { isPart } from './part.ts';
import type { Semaphore } from './semaphore.ts';

/** Whether an argument of `allOf` is a semaphore, told without loading the class. */
function isSemaphore(part: unknown): part is Semaphore {
  return typeof (part as Partial<Semaphore> | null | undefined)?.watch === 'function';
}

/** Combines limiters into one; those of a combination count as its own. */
function combine(limiters: readonly unknown[], semaphore?: Semaphore): Limiter {
  const parts: Limiter[] = [];
  for (const [index, limiter] of limiters.entries()) {
    if (!(limiter instanceof CombinedLimiter || isPart(limiter))) {
      const hint = isSemaphore(limiter) ? '; one semaphore at most, as the first argument' : '';
      throw new TypeError(`limiters[${index}] must be a limiter, got ${shown(limiter)}${hint}`);
    }
    parts.push(limiter);
    const { clock } = semaphore ?? parts[0] ?? limiter;
    if (limiter.clock.name !== clock.name) {
      throw new TypeError(
        `all limiters must have the same clock, got ${clock.name} and ${limiter.clock.name}`,
      );
    }
  }
  const [first] = parts;
  if (first === undefined) throw new TypeError('allOf needs at least one limiter');
  // A bucket alone reserves its tokens in order, over all threads.
  if (semaphore !== undefined && parts.length === 1) return first;
  return new CombinedLimiter(first.clock, CombinedLimiter.membersOf(parts));
}

/**
 * Combines a semaphore and limiters: at most so many callers at once, and at most so many per second.
 *
 * @throws TypeError if no limiter follows the semaphore, for an argument that is not one, or if their
 * clocks differ.
 */
export function allOf(semaphore: Semaphore, ...limiters: Limiter[]): LimitedSemaphore;
/**
 * Combines limiters into one that admits a call only if all of them do, such as 10 per second AND
 * 100 per minute. A call takes tokens from all parts or from none.
 *
 * Tokens are taken from one part after the other, and returned if a later part refuses. Buckets
 * come first, because they can take back any tokens. Windows can take back only those of the
 * current window, and logs none, so they come last; tokens that can't be returned lapse. A race with
 * another thread can therefore admit too little for a moment, never too much.
 *
 * If the same limiter is given twice, even as two attachments to one handle, it must grant twice
 * the tokens.
 *
 * Callers of `wait` are served in order within this object: they form one line, whose head tries
 * when the slowest part can agree at the earliest. If that part's limit changes meanwhile, the wait
 * adjusts. Other threads, `tryConsume` and `waitSync` do not join the line.
 *
 * Accepts any mix of limiters, nested combinations included. To share one across threads, attach
 * the parts in each thread and combine them there.
 *
 * @example
 * ```ts
 * const perSecond = TokenBucket.create({ rate: 10, burst: 10 });
 * const perMinute = TokenBucket.create({ rate: per(100, 'minute'), burst: 100 });
 * const both = allOf(perSecond, perMinute);
 * both.tryConsume();
 * ```
 * @throws TypeError without arguments, for one that is not a limiter, or if their clocks differ.
 */
export function allOf(...limiters: Limiter[]): Limiter;
export function allOf(...parts: readonly unknown[]): Limiter | LimitedSemaphore {
  const [first, ...others] = parts;
  if (!isSemaphore(first)) return combine(parts);
  return new LimitedSemaphore(first, combine(others, first));
}
