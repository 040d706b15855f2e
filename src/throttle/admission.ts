import type { CallOutcome } from '../limiters/adaptation.ts';
import { takesToo } from '../limiters/meeting.ts';
import type { SharedEvent } from '../memory/event.ts';
import { type Applicant, type Lane, Lanes, type PermitSource } from './lanes.ts';
import { type Abilities, promiseToken, type TaskLimiter, type TokenPromise } from './tokens.ts';

/** A timer or garbage collection can delay a look by this much without losing a token. */
const AHEAD_US = 8_000;
/** A pool whose tokens come slower than this needs none promised ahead: each thread has one. */
const TIMER_TICKS_PER_S = 1000;
/** Tokens promised ahead are returned if none of them gets a lane for this time. */
const STUCK_US = 10_000;

/** The limits on the starts of calls. */
export interface Bounds {
  readonly limiter: TaskLimiter | undefined;
  readonly semaphore: PermitSource | undefined;
  /** The most calls that can run at once. Read on every use. */
  readonly places?: () => number;
}

/**
 * Admits calls, each with a lane and a token. The two meet late, by the rule of `meet` in
 * `src/limiters/meeting.ts`: a token that is there waits until a lane is free, and a token that is
 * not is promised without a lane. So no call holds a permit before it starts, and one token at most
 * waits for a permit for longer than {@link STUCK_US}.
 *
 * Lanes and tokens belong to no call until it starts. So a call that gives up costs a token only if
 * another holder of the limiter has reserved one after the last token promised here.
 */
export class Admission {
  readonly #lanes: Lanes;
  readonly #limiter: (TaskLimiter & Abilities) | undefined;
  readonly #applicant: Applicant;
  /** Whether no one else can use the lanes, so that a token may be promised for each. */
  readonly #hasOwnLanes: boolean;
  /** Tokens in the order in which they are due. */
  readonly #promised: TokenPromise[] = [];
  /** Whether there was a lane, but no token. */
  #isShortOfTokens = false;
  /**
   * Until when the first token may be due without a lane before the others are returned; Infinity
   * once they have been. Undefined if it is not due.
   */
  #lapseUs: number | undefined;

  constructor(
    { limiter, semaphore, places = () => Number.POSITIVE_INFINITY }: Bounds,
    applicant: Applicant,
  ) {
    this.#hasOwnLanes = semaphore === undefined && Number.isFinite(places());
    this.#lanes = new Lanes(places, semaphore, applicant);
    this.#limiter = limiter;
    this.#applicant = applicant;
  }

  /** Number of calls with a promised token. */
  get promised(): number {
    return this.#promised.length;
  }

  /** Fires when tokens may be due earlier or later. */
  get changes(): SharedEvent | undefined {
    return this.#limiter?.changes;
  }

  /** When to look again; Infinity if only other events matter. */
  get lookUs(): number {
    const [head] = this.#promised;
    if (head === undefined) return Number.POSITIVE_INFINITY;
    return this.#lapseUs ?? head.dueUs;
  }

  /**
   * A lane and a token for a call that starts now, if both are there. If they are not, a limiter or
   * semaphore counts a refusal only for a call that cannot wait, unless another thread is faster.
   */
  take(nowUs: number, canWait = true): readonly [Lane] | undefined {
    const [head] = this.#promised;
    if (head === undefined) {
      this.#lapseUs = undefined;
      return canWait && !this.#areThere() ? undefined : this.#takeBoth();
    }
    if (head.dueUs > nowUs) {
      this.#lapseUs = undefined;
      return this.#overtake();
    }
    const lane = this.#lanes.take();
    if (lane === undefined) {
      this.#lanes.ask();
      this.#lapseUs ??= nowUs + STUCK_US;
      if (nowUs >= this.#lapseUs) this.#lapse();
    } else {
      this.#lapseUs = undefined;
      this.#promised.shift();
    }
    return lane;
  }

  /** Takes a token that is there before the promised ones, and drops the latest of those. */
  #overtake(): readonly [Lane] | undefined {
    if (this.#limiter?.overtakes !== true) return undefined;
    const lane = this.#areThere() ? this.#takeBoth() : undefined;
    this.#isShortOfTokens = false;
    if (lane !== undefined) this.#putBack(this.#promised.length - 1);
    return lane;
  }

  #areThere(): boolean {
    if (!this.#lanes.isFree) return false;
    this.#isShortOfTokens = (this.#limiter?.timeUntil?.(1) ?? 0) > 0;
    return !this.#isShortOfTokens;
  }

  #takeBoth(): readonly [Lane] | undefined {
    const lane = this.#lanes.take();
    const limiter = this.#limiter;
    if (lane === undefined || limiter === undefined) return lane;
    const isAdmitted = takesToo(
      () => limiter.tryConsume(),
      () => this.#lanes.giveUp(lane[0]),
    );
    this.#isShortOfTokens = !isAdmitted;
    return isAdmitted ? lane : undefined;
  }

  /**
   * Returns tokens that wait for lanes. If others want tokens too, the first one stays: a call that
   * gave its token back could find the tokens gone whenever it gets a permit.
   */
  #lapse(): void {
    this.#putBack(1);
    this.#lapseUs = Number.POSITIVE_INFINITY;
    const [head] = this.#promised;
    if (head !== undefined && this.#canReserve && head.putBack() === true) this.#promised.shift();
  }

  /** Returns the latest tokens until `left` are left. */
  #putBack(left: number): void {
    while (this.#promised.length > left) this.#promised.pop()?.putBack();
  }

  /**
   * Promises a token to one more waiting call, after {@link take} found nothing for it. Returns
   * whether it did; undefined if the token is not due within `maxWaitMs`.
   *
   * @throws the limiter's errors.
   */
  promise(nowUs: number, maxWaitMs: number): boolean | undefined {
    if (!this.#isWanted(nowUs)) return false;
    const limiter = this.#limiter;
    const { onReady } = this.#applicant;
    const token = limiter && promiseToken(limiter, maxWaitMs, onReady, this.#lost);
    if (token === undefined) return undefined;
    this.#promised.push(token);
    return true;
  }

  readonly #lost = (token: TokenPromise, reason: unknown): void => {
    const at = this.#promised.indexOf(token);
    if (at < 0) return;
    this.#promised.splice(at, 1);
    this.#applicant.onFailure(reason);
  };

  get #canReserve(): boolean {
    return this.#limiter?.reserve !== undefined;
  }

  #isWanted(nowUs: number): boolean {
    const [head] = this.#promised;
    if (head !== undefined) {
      // One call at most waits in the queue of a limiter that cannot reserve.
      if (!this.#canReserve) return false;
      if (this.#hasOwnLanes && this.#lanes.room > this.#promised.length) return true;
      // If it has been due for long, calls wait for lanes.
      return head.dueUs > nowUs - AHEAD_US && this.#isLosing();
    }
    const isShortOfTokens = this.#isShortOfTokens;
    this.#isShortOfTokens = false;
    if (!isShortOfTokens) this.#lanes.ask();
    return isShortOfTokens;
  }

  /** Whether a late look would lose tokens, so that more must be promised than there are lanes. */
  #isLosing(): boolean {
    const { rate = 0, limit } = this.#limiter ?? {};
    if (this.#hasOwnLanes && rate <= TIMER_TICKS_PER_S) return false;
    const fullMs = limit === undefined ? undefined : this.#limiter?.timeUntil?.(limit);
    return fullMs !== undefined && fullMs < AHEAD_US / 1000;
  }

  /** Returns promises beyond the number of waiting calls: the latest first, which is exact. */
  trim(waiting: number): void {
    this.#putBack(waiting);
    if (waiting > 0) return;
    this.#lapseUs = undefined;
    this.#isShortOfTokens = false;
    this.#lanes.unask();
  }

  /** Returns what {@link take} has given, if no call is left to start. */
  giveUp(lane: Lane): void {
    this.#lanes.giveUp(lane);
    this.#limiter?.returnTokens?.(1);
  }

  /**
   * Releases the lane of a call that has finished.
   *
   * @throws RateLimitError `ERR_PERMIT_EXPIRED` if it took longer than the semaphore's `holdMs`.
   */
  finish(lane: Lane, outcome: CallOutcome): void {
    this.#lanes.finish(lane, outcome);
  }
}
