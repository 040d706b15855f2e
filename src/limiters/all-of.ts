import { checkTokens, shown } from '../options.ts';
import type { Clock } from '../time/clock.ts';
import type { Decision } from './decision.ts';
import type { Grant, Limiter, WaitOptions } from './limiter.ts';
import { watch } from './moving-sleep.ts';
import { type Attempt, checkWait, type Refusal, retry, retrySync } from './waiting.ts';

/** Several limiters that must all admit a call. See {@link allOf}. */
class CombinedLimiter implements Limiter {
  readonly clock: Clock;
  readonly #parts: readonly Limiter[];

  constructor(first: Limiter, parts: readonly Limiter[]) {
    this.clock = first.clock;
    // Flattened, so that `resetMs` is exact: a combined limiter's limit is only its smallest.
    this.#parts = parts.flatMap((part) => (part instanceof CombinedLimiter ? part.#parts : [part]));
  }

  #least(of: (part: Limiter) => number): number {
    return Math.min(...this.#parts.map(of));
  }

  #most(of: (part: Limiter) => number): number {
    return Math.max(...this.#parts.map(of));
  }

  get limit(): number {
    return this.#least((part) => part.limit);
  }

  available(): number {
    return this.#least((part) => part.available());
  }

  timeUntil(tokens: number): number {
    return this.#most((part) => part.timeUntil(tokens));
  }

  take(n: number): Grant | undefined {
    checkTokens('n', n);
    // Checking first means that a refusal has nothing to return, unless another thread intervenes:
    // then each grant is cancelled, which succeeds only if nobody has taken tokens after it.
    if (this.timeUntil(n) > 0) return undefined;
    const grants: Grant[] = [];
    const cancel = () => grants.reduceRight((all, grant) => grant.cancel() && all, true);
    for (const part of this.#parts) {
      const grant = part.take(n);
      if (grant === undefined) {
        cancel();
        return undefined;
      }
      grants.push(grant);
    }
    return { cancel };
  }

  tryConsume(n = 1): boolean {
    return this.take(n) !== undefined;
  }

  decide(n = 1): Decision {
    const allowed = this.tryConsume(n);
    return {
      allowed,
      limit: this.limit,
      remaining: Math.floor(this.available()),
      retryAfterMs: allowed ? 0 : this.timeUntil(n),
      resetMs: this.#most((part) => part.timeUntil(part.limit)),
    };
  }

  async wait(n = 1, options: WaitOptions = {}): Promise<void> {
    await retry(this.clock, this.#attempt, n, this.limit, checkWait(options));
  }

  waitSync(n = 1, options: Omit<WaitOptions, 'signal'> = {}): boolean {
    return retrySync(this.clock, this.#attempt, n, this.limit, checkWait(options));
  }

  readonly #attempt: Attempt = (n) => {
    if (this.take(n) !== undefined) return undefined;
    // If another thread intervened between check and take, a retry may succeed at once.
    return this.#refusal(n);
  };

  /** Watches the slowest part: changing another part's limit cannot end the wait sooner. */
  #refusal(n: number): Refusal {
    const [slowest] = this.#parts
      .map((part) => [part, part.timeUntil(n)] as const)
      .reduce((most, next) => (next[1] > most[1] ? next : most));
    const watched = slowest.changes && watch(slowest.changes);
    return { retryAtUs: this.clock.now() + slowest.timeUntil(n) * 1000, watch: watched };
  }
}

/**
 * Combines limiters into one that admits a call only if all of them do, such as 10 per second AND
 * 100 per minute. A call takes tokens from all parts or from none.
 *
 * A wait lasts as long as the slowest part requires, then retries; callers are not served in order.
 * If that part's limit changes meanwhile, the wait adjusts.
 *
 * All parts are checked before tokens are taken from the first. If another thread intervenes, the
 * tokens already taken are returned to each part from which nobody has taken since, and are lost in
 * the others. The race can therefore admit too little, never too much.
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
export function allOf(...limiters: Limiter[]): Limiter {
  const [first] = limiters;
  if (first === undefined) throw new TypeError('allOf needs at least one limiter');
  limiters.forEach((limiter, index) => {
    if (typeof limiter?.take !== 'function') {
      throw new TypeError(`limiters[${index}] must be a limiter, got ${shown(limiter)}`);
    }
    if (limiter.clock.name !== first.clock.name) {
      throw new TypeError(
        `all limiters must have the same clock, got ${first.clock.name} and ${limiter.clock.name}`,
      );
    }
  });
  return new CombinedLimiter(first, limiters);
}
