import { checkTokens, shown } from '../options.ts';
import type { Clock } from '../time/clock.ts';
import type { Decision } from './decision.ts';
import type { Grant, Limiter, WaitOptions } from './limiter.ts';
import { watch } from './moving-sleep.ts';
import { type Attempt, checkWait, type Refusal, retry, retrySync } from './waiting.ts';

/** Several limiters that must all agree. See {@link allOf}. */
class CombinedLimiter implements Limiter {
  readonly clock: Clock;
  readonly #parts: readonly Limiter[];

  constructor(first: Limiter, parts: readonly Limiter[]) {
    this.clock = first.clock;
    // Those of a nested one count each for itself: the whole is as good as new when they all are.
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
    // Whoever asks first and takes only then has nothing to give back, unless another thread comes
    // between: what was taken goes back only where nobody built on it, as with any reservation.
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
    // If another thread came between question and taking, a retry can succeed at once.
    return this.#refusal(n);
  };

  /** By the part that holds the call up longest: no change of another can bring its end forward. */
  #refusal(n: number): Refusal {
    const [slowest] = this.#parts
      .map((part) => [part, part.timeUntil(n)] as const)
      .reduce((most, next) => (next[1] > most[1] ? next : most));
    const watched = slowest.changes && watch(slowest.changes);
    return { retryAtUs: this.clock.now() + slowest.timeUntil(n) * 1000, watch: watched };
  }
}

/**
 * Several limiters that must all admit a call: per second AND per minute. A call takes from all of
 * them or from none: one that refuses costs the others nothing. Waits take the longest of the
 * parts' waits, and then look again; callers are not served in the order in which they asked. A
 * change of the limit that a wait is held up by wakes it at its new instant.
 *
 * It asks all parts before it takes from the first. If another thread comes between, what was taken
 * goes back to the parts where nobody built on it yet, and lapses in the others: too little may be
 * admitted by that call's tokens, never too much.
 *
 * Works with any mixture, also with itself. Each thread makes its own from limiters it attached.
 *
 * @example
 * ```ts
 * const perSecond = TokenBucket.create({ rate: 10, burst: 10 });
 * const perMinute = TokenBucket.create({ rate: per(100, 'minute'), burst: 100 });
 * const both = allOf(perSecond, perMinute);
 * both.tryConsume();
 * ```
 * @throws TypeError without a limiter, for something that is none, or for different clocks.
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
