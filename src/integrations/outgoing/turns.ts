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

/** Undefined if all requests have the same. */
type MaybeKey = Key | undefined;

/** A request takes its permit, and reserves its token, this long before the token is due. */
const AHEAD_US = 50_000;
/** How often a longer wait looks again: a limit may be raised, or a key reset. */
const LOOK_US = 1_000_000;
const LEAST_US = 100;

/**
 * Lets requests of this thread start: each with a permit and then a token, in order for each key.
 * Only the first of a key's line holds anything, so an abort of another takes nothing.
 */
export class Turns {
  readonly #outgoing: Outgoing;
  /** A lane for each key with requests that wait. */
  readonly #lanes = new Map<MaybeKey, Lane>();
  /** Until when the requests of a key are held up in this thread, in microseconds. */
  readonly #holds = new Map<MaybeKey, number>();
  #waiting = 0;

  constructor(outgoing: Outgoing) {
    this.#outgoing = outgoing;
  }

  /** A turn now; undefined, and nothing is taken, if the request has to wait. */
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

  /** Waits for a turn. If it fails, nothing is taken. */
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

  /** Holds up the requests of a key if an answer asks for that. */
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
    return isKeyed(limiter) ? limiter.for(key as Key) : limiter; // a keyed limiter's requests have keys
  }

  /** 0 if the requests of this key are not held up here. */
  #heldUntilUs(key: MaybeKey): number {
    return this.#holds.get(key) ?? 0;
  }

  #isHeld(key: MaybeKey): boolean {
    return this.#holds.size > 0 && this.#heldUntilUs(key) > this.#outgoing.clock.now();
  }

  /** When a request of this key can start at the earliest; may have passed. */
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
        // An answer may have held up the key, or others may have taken its tokens.
        if (await this.#token(key, signal)) return turn;
      } catch (error) {
        turn.release();
        throw error;
      }
      turn.release();
    }
  }

  /** Takes a token; false if it is not almost due, so that the permit should go back. */
  async #token(key: MaybeKey, signal: AbortSignal): Promise<boolean> {
    const { clock, strict, catchUp } = this.#outgoing;
    const limiter = this.#limiterOf(key);
    while (this.#isNear(key)) {
      if (limiter === undefined) return true;
      const aheadUs = limiter.timeUntil(1) * 1000;
      const isPaused = aheadUs === Number.POSITIVE_INFINITY;
      if (catchUp || isPaused) return this.#granted(limiter, isPaused, signal);
      // Not reserved: what starts late is counted late.
      if (limiter.tryConsume()) return true;
      await clock.sleep(clock.now() + Math.max(aheadUs, LEAST_US), { signal, strict });
    }
    return false;
  }

  /** Waits for a token; false if a block, or other threads, put it off for long. */
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
    // Even if the limiter says that the token is due now, or this would spin.
    await clock.sleep(clock.now() + AHEAD_US, { signal });
    return false;
  }

  /** Paused limiters count as near: their own `wait` wakes when that changes. */
  #isNear(key: MaybeKey): boolean {
    if (this.#isHeld(key)) return false;
    const aheadUs = this.#startUs(key) - this.#outgoing.clock.now();
    return aheadUs <= AHEAD_US || aheadUs === Number.POSITIVE_INFINITY;
  }

  /** Waits, without a permit, until the key is not held up and its next token is almost due. */
  async #approach(key: MaybeKey, deadlineUs: number, signal: AbortSignal): Promise<void> {
    const { clock, timeoutMs } = this.#outgoing;
    while (!this.#isNear(key)) {
      const nowUs = clock.now();
      const startUs = this.#startUs(key);
      if (startUs > deadlineUs) throw timedOut(1, timeoutMs);
      const nearUs = this.#isHeld(key) ? this.#heldUntilUs(key) : startUs - AHEAD_US;
      // Far enough for the clock to see the difference, or this would spin.
      const atUs = Math.max(nearUs, nowUs + LEAST_US);
      await clock.sleep(Math.min(atUs, nowUs + LOOK_US), { signal });
    }
  }
}
