import { RateLimitError } from '../../errors.ts';
import type { Key } from '../../kernel/keyed/message.ts';
import type { Permit } from '../../limiters/permit.ts';
import { queueFull, timedOut } from '../../limiters/waiting.ts';
import { onAbort } from '../../time/on-abort.ts';
import { onInstant } from '../../time/on-instant.ts';
import { Lane } from './lane.ts';
import { isKeyed, type Outgoing, type OutgoingLimiter } from './options.ts';
import { type Answer, retryAfterMs } from './retry-after.ts';
import { Turn } from './turn.ts';

/** Undefined if all requests share one key. */
type MaybeKey = Key | undefined;

/** A request takes its permit and reserves its token this long before the token is due. */
const AHEAD_US = 50_000;
/** A longer wait checks this often whether a limit was raised or a key reset. */
const LOOK_US = 1_000_000;
const LEAST_US = 100;

/**
 * Starts this thread's requests: each takes a permit and then a token, in order per key. Only the
 * first in a key's line holds anything, so aborting another one costs nothing.
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
    const { semaphore } = this.#outgoing;
    if (this.#lanes.has(key) || this.#isHeld(key)) return undefined;
    const limiter = this.#limiterOf(key);
    const permit = semaphore?.tryAcquire();
    if (semaphore !== undefined && permit === undefined) return undefined;
    const turn = new Turn(permit);
    try {
      if (limiter?.tryConsume() !== false) return turn;
    } catch (error) {
      turn.release();
      throw error;
    }
    turn.release();
    return undefined;
  }

  /** Waits for a turn. Takes nothing if it fails. */
  async wait(key: MaybeKey, signal?: AbortSignal): Promise<Turn> {
    const { clock, timeoutMs, maxWaiting } = this.#outgoing;
    signal?.throwIfAborted();
    if (this.#waiting >= maxWaiting) throw queueFull(maxWaiting);
    const deadlineUs = clock.now() + timeoutMs * 1000;
    if (timeoutMs === 0 || this.#startUs(key) > deadlineUs) throw timedOut(1, timeoutMs);
    const leave = new AbortController();
    const unlink = onAbort(signal, (reason) => leave.abort(reason));
    const cancel = onInstant(clock, deadlineUs, () => leave.abort(timedOut(1, timeoutMs)));
    this.#waiting++;
    try {
      return await this.#inOrder(key, deadlineUs, leave.signal);
    } finally {
      this.#waiting--;
      unlink();
      cancel();
    }
  }

  /** Pauses the requests of a key if a response asks for it. */
  heed(key: MaybeKey, answer: Answer): void {
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
    await lane.enter(signal);
    try {
      return await this.#turn(key, deadlineUs, signal);
    } finally {
      if (!lane.leave()) this.#lanes.delete(key);
    }
  }

  async #turn(key: MaybeKey, deadlineUs: number, signal: AbortSignal): Promise<Turn> {
    const { semaphore } = this.#outgoing;
    for (;;) {
      await this.#approach(key, deadlineUs, signal);
      const permit: Permit | undefined = await semaphore?.acquire(1, { signal });
      const turn = new Turn(permit);
      try {
        signal.throwIfAborted();
        // A response may have paused the key, or other callers may have taken its tokens.
        if (await this.#token(key, signal)) return turn;
      } catch (error) {
        turn.release();
        throw error;
      }
      turn.release();
    }
  }

  /** Takes a token; false if it is not almost due, and the permit should be returned. */
  async #token(key: MaybeKey, signal: AbortSignal): Promise<boolean> {
    const { clock, strict, catchUp } = this.#outgoing;
    const limiter = this.#limiterOf(key);
    while (this.#isNear(key)) {
      if (limiter === undefined) return true;
      const aheadUs = limiter.timeUntil(1) * 1000;
      const isPaused = aheadUs === Number.POSITIVE_INFINITY;
      if (catchUp || isPaused) return this.#granted(limiter, isPaused, signal);
      // Without a reservation, a late start counts as late.
      if (limiter.tryConsume()) return true;
      await clock.sleep(clock.now() + Math.max(aheadUs, LEAST_US), { signal, strict });
    }
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

  /** Waits, without a permit, until the key is not paused and its next token is almost due. */
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
