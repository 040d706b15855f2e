import { RateLimitError } from '../../errors.ts';
import type { Key } from '../../kernel/keyed/hash.ts';
import type { CallOutcome } from '../../limiters/adaptation.ts';
import { isKeyed } from '../../limiters/limiter.ts';
import { Lane, meet, meetNow, within } from '../../limiters/meeting.ts';
import { outcomeOfError, type Permit } from '../../limiters/permit.ts';
import { queueFull, timedOut } from '../../limiters/waiting.ts';
import type { Outgoing, OutgoingLimiter } from './options.ts';

/** The parts of a response that ask the client to slow down. */
export interface Answer {
  /** The status code. */
  readonly status: number;
  /** `Retry-After`: seconds, or an HTTP-date. */
  readonly retryAfter: string | undefined;
  /** `Date`: the server's clock at the time of the response. */
  readonly date: string | undefined;
}

const SECONDS = /^\s*\d+(\.\d+)?\s*$/;
/** All three forms of RFC 9110 begin with a weekday. `Date.parse` would also accept "-5". */
const DATE = /^\s*(Mon|Tue|Wed|Thu|Fri|Sat|Sun)/;

function dateMs(text: string | undefined): number {
  if (text === undefined || !DATE.test(text)) return Number.NaN;
  // The oldest form has no zone but is also in GMT.
  return Date.parse(text.includes('GMT') ? text : `${text} GMT`);
}

/**
 * The delay that a server asks for, in milliseconds >= 0; undefined without one. A date is relative
 * to the server's own `Date`, so the clocks need not agree.
 */
export function retryAfterMs({ retryAfter, date }: Omit<Answer, 'status'>): number | undefined {
  if (retryAfter === undefined) return undefined;
  if (SECONDS.test(retryAfter)) return Number(retryAfter) * 1000;
  const untilMs = dateMs(retryAfter);
  if (Number.isNaN(untilMs)) return undefined;
  const sinceMs = dateMs(date);
  return Math.max(0, untilMs - (Number.isNaN(sinceMs) ? Date.now() : sinceMs));
}

/** The right to send one request: its token is spent, and its permit must be returned. */
export class Turn {
  #permit: Permit | undefined;
  #outcome: CallOutcome = 'ignore';
  readonly #heed: (answer: Answer) => void;

  constructor(permit: Permit | undefined, heed: (answer: Answer) => void) {
    this.#permit = permit;
    this.#heed = heed;
  }

  /** Notes the response: pauses the requests of its key if it asks for that. */
  answered(answer: Answer): void {
    const { status } = answer;
    // For a semaphore that adapts, these say that it was too much.
    this.#outcome = status === 429 || status === 503 ? 'dropped' : 'ok';
    this.#heed(answer);
  }

  /** Returns the permit of a request that has ended, or failed. Further calls have no effect. */
  ended(error?: readonly [unknown]): void {
    // A status that asks to slow down counts, however its body ended.
    if (error !== undefined && this.#outcome !== 'dropped') {
      this.#outcome = outcomeOfError(error[0]);
    }
    const permit = this.#permit;
    this.#permit = undefined;
    try {
      permit?.release({ outcome: this.#outcome });
    } catch {
      // The permit expired after `holdMs`. That must not fail the request.
    }
  }
}

/** Undefined if all requests share one key. */
type MaybeKey = Key | undefined;

/** A request reserves its token this long before the token is due. */
const AHEAD_US = 50_000;
/** A longer wait checks this often whether a limit was raised or a key reset. */
const LOOK_US = 1_000_000;
const LEAST_US = 100;

/**
 * Starts this thread's requests, each with a permit and a token, in order per key. Only the first in
 * a key's line holds anything, so aborting another one costs nothing.
 */
export class Turns {
  readonly #outgoing: Outgoing;
  /** The lanes of keys with waiting requests. */
  readonly #lanes = new Map<MaybeKey, Lane>();
  /** Until when the requests of a key are paused in this thread, in microseconds. */
  readonly #holds = new Map<MaybeKey, number>();
  #waiting = 0;

  constructor(outgoing: Outgoing) {
    this.#outgoing = outgoing;
  }

  /** Returns a turn now, or takes nothing and returns undefined if the request has to wait. */
  take(key: MaybeKey): Turn | undefined {
    if (this.#lanes.has(key) || this.#isHeld(key)) return undefined;
    const limiter = this.#limiterOf(key);
    const met = meetNow(this.#outgoing.semaphore, () => limiter?.tryConsume() !== false);
    return met && this.#turn(key, met[0]);
  }

  /** Waits for a turn. Takes nothing if it fails. */
  async wait(key: MaybeKey, signal?: AbortSignal): Promise<Turn> {
    const { clock, timeoutMs, maxWaiting } = this.#outgoing;
    signal?.throwIfAborted();
    if (this.#waiting >= maxWaiting) throw queueFull(maxWaiting);
    const wait = { timeoutMs, signal };
    return within(clock, 1, wait, async (until, deadlineUs) => {
      if (timeoutMs === 0 || this.#startUs(key) > deadlineUs) throw timedOut(1, timeoutMs);
      this.#waiting++;
      try {
        return await this.#inOrder(key, deadlineUs, until);
      } finally {
        this.#waiting--;
      }
    });
  }

  #turn(key: MaybeKey, permit: Permit | undefined): Turn {
    return new Turn(permit, (answer) => this.#heed(key, answer));
  }

  /** Pauses the requests of a key if a response asks for it. */
  #heed(key: MaybeKey, answer: Answer): void {
    const { clock, maxRetryAfterMs } = this.#outgoing;
    const ms = Math.min(this.#askedMs(answer), maxRetryAfterMs);
    if (ms <= 0 || this.#limiterOf(key)?.block?.(ms)) return;
    const nowUs = clock.now();
    for (const [held, untilUs] of this.#holds) if (untilUs <= nowUs) this.#holds.delete(held);
    this.#holds.set(key, Math.max(this.#holds.get(key) ?? 0, nowUs + ms * 1000));
  }

  #askedMs(answer: Answer): number {
    if (answer.status === 429) return retryAfterMs(answer) ?? this.#outgoing.retryAfterMs;
    return answer.status === 503 ? (retryAfterMs(answer) ?? 0) : 0;
  }

  #limiterOf(key: MaybeKey): OutgoingLimiter | undefined {
    const { limiter } = this.#outgoing;
    return isKeyed(limiter) ? limiter.for(key as Key) : limiter; // its requests have keys
  }

  /** 0 if the key is not paused in this thread. */
  #heldUntilUs(key: MaybeKey): number {
    return this.#holds.get(key) ?? 0;
  }

  #isHeld(key: MaybeKey): boolean {
    return this.#holds.size > 0 && this.#heldUntilUs(key) > this.#outgoing.clock.now();
  }

  /** The earliest instant at which a request of this key can start; may be in the past. */
  #startUs(key: MaybeKey): number {
    const tokenUs = (this.#limiterOf(key)?.timeUntil(1) ?? 0) * 1000;
    return Math.max(this.#heldUntilUs(key), this.#outgoing.clock.now() + tokenUs);
  }

  async #inOrder(key: MaybeKey, deadlineUs: number, signal: AbortSignal): Promise<Turn> {
    let lane = this.#lanes.get(key);
    if (lane === undefined) {
      lane = new Lane();
      this.#lanes.set(key, lane);
    }
    try {
      return await lane.serve(signal, () => this.#meet(key, deadlineUs, signal));
    } finally {
      if (lane.isEmpty) this.#lanes.delete(key);
    }
  }

  async #meet(key: MaybeKey, deadlineUs: number, signal: AbortSignal): Promise<Turn> {
    const limiter = this.#limiterOf(key);
    const tokens = {
      areThere: () => this.#startUs(key) <= this.#outgoing.clock.now(),
      take: () => !this.#isHeld(key) && limiter?.tryConsume() !== false,
      wait: async () => {
        await this.#approach(key, deadlineUs, signal);
        return limiter !== undefined && this.#token(limiter, signal);
      },
      // A response may have paused the key meanwhile.
      areValid: () => !this.#isHeld(key),
      giveBack: () => limiter?.returnTokens?.(1),
    };
    return this.#turn(key, await meet(this.#outgoing.semaphore, tokens, signal));
  }

  /** Takes a token that is almost due; false if the request should look again. */
  async #token(limiter: OutgoingLimiter, signal: AbortSignal): Promise<boolean> {
    const { clock, strict, catchUp } = this.#outgoing;
    const aheadUs = limiter.timeUntil(1) * 1000;
    const isPaused = aheadUs === Number.POSITIVE_INFINITY;
    if (catchUp || isPaused) return this.#granted(limiter, isPaused, signal);
    // Without a reservation, a late start counts as late.
    await clock.sleep(clock.now() + Math.max(aheadUs, LEAST_US), { signal, strict });
    return false;
  }

  /** Waits for a token; false if a block or other threads delay it for long. */
  async #granted(limiter: OutgoingLimiter, isPaused: boolean, signal: AbortSignal) {
    const { clock, strict } = this.#outgoing;
    const timeoutMs = isPaused ? Number.POSITIVE_INFINITY : LOOK_US / 1000;
    try {
      await limiter.wait(1, { signal, strict, timeoutMs });
      return true;
    } catch (error) {
      signal.throwIfAborted();
      if (!(error instanceof RateLimitError && error.code === 'ERR_RATE_LIMIT_TIMEOUT'))
        throw error;
    }
    // Sleep even if the limiter reports a token as due now, to avoid spinning.
    await clock.sleep(clock.now() + AHEAD_US, { signal });
    return false;
  }

  /**
   * Whether the next token is almost due. True for paused limiters: their own `wait` wakes on a
   * change.
   */
  #isNear(key: MaybeKey): boolean {
    if (this.#isHeld(key)) return false;
    const aheadUs = this.#startUs(key) - this.#outgoing.clock.now();
    return aheadUs <= AHEAD_US || aheadUs === Number.POSITIVE_INFINITY;
  }

  /** Waits until the key is not paused and its next token is almost due. */
  async #approach(key: MaybeKey, deadlineUs: number, signal: AbortSignal): Promise<void> {
    const { clock, timeoutMs } = this.#outgoing;
    while (!this.#isNear(key)) {
      const nowUs = clock.now();
      const startUs = this.#startUs(key);
      if (startUs > deadlineUs) throw timedOut(1, timeoutMs);
      const nearUs = this.#isHeld(key) ? this.#heldUntilUs(key) : startUs - AHEAD_US;
      // Far enough ahead for the clock to notice, to avoid spinning.
      const atUs = Math.max(nearUs, nowUs + LEAST_US);
      await clock.sleep(Math.min(atUs, nowUs + LOOK_US), { signal });
    }
  }
}
