import type { Bell } from '../memory/bell.ts';
import { DoubleEnded } from './double-ended.ts';
import { type PermitSource, type Slot, Slots } from './slots.ts';
import { type TaskLimiter, type TokenPromise, Tokens } from './tokens.ts';

/** A timer or garbage collection can delay a look by this much without losing a token. */
const AHEAD_US = 8_000;
/** Slots that others could use are held for tokens that are due within this time. */
const HOLD_US = 4_000;
/** A pool whose tokens come slower than this needs none promised ahead: each thread has one. */
const TIMER_TICKS_PER_S = 1000;
/** Tokens promised ahead are returned if none of them gets a slot for this time. */
const STUCK_US = 10_000;

/** The limits on the starts of calls. */
export interface Bounds {
  readonly limiter: TaskLimiter | undefined;
  readonly semaphore: PermitSource | undefined;
  /** The most calls that can run at once. Read on every use. */
  readonly places?: () => number;
}

/** Receives the outcome of a request for a token or a permit. */
export interface Applicant {
  /** A permit or token has become available. */
  onReady(): void;
  /** The next call cannot start. */
  onFailure(reason: unknown): void;
}

/** A token that is already taken, or not needed. */
const DUE: TokenPromise = { dueUs: Number.NEGATIVE_INFINITY, cancel: () => undefined };

/**
 * Admits calls: takes a slot, then a token, so that a refusal loses neither.
 *
 * Slots and tokens belong to no call until it starts. So a call that gives up costs a token only if
 * another holder of the limiter has reserved one after the last token promised here.
 */
export class Admission {
  readonly #slots: Slots;
  readonly #tokens: Tokens | undefined;
  /** Whether no one else can use the slots, so that holding them delays no one. */
  readonly #hasOwnSlots: boolean;
  /** Slots waiting for a token. */
  readonly #held = new DoubleEnded<Slot>();
  /** Tokens in the order in which they are due. */
  readonly #promised = new DoubleEnded<TokenPromise>();
  /** How many of the tokens were promised before there was a slot for them. */
  #ahead = 0;
  /** Since when the first token has been due without a slot; undefined if it has not. */
  #stuckUs: number | undefined;

  constructor(
    { limiter, semaphore, places = () => Number.POSITIVE_INFINITY }: Bounds,
    { onReady, onFailure }: Applicant,
  ) {
    this.#hasOwnSlots = semaphore === undefined && Number.isFinite(places());
    this.#slots = new Slots(places, semaphore, onReady, onFailure);
    const lost = (token: TokenPromise, reason: unknown) => {
      if (this.#forget(token)) onFailure(reason);
    };
    this.#tokens = limiter && new Tokens(limiter, onReady, lost);
  }

  /** Number of calls with a promised token. */
  get promised(): number {
    return this.#promised.length;
  }

  /** Rings when tokens may be due earlier or later. */
  get changes(): Bell | undefined {
    return this.#tokens?.changes;
  }

  /** When to look again; Infinity if only other events matter. */
  get lookUs(): number {
    const { first } = this.#promised;
    if (first === undefined) return Number.POSITIVE_INFINITY;
    if (this.#stuckUs === undefined) return first.dueUs;
    return this.#ahead > 0 ? this.#stuckUs + STUCK_US : Number.POSITIVE_INFINITY;
  }

  /** A slot with a token, if both are free now and none is promised. */
  take(): readonly [Slot] | undefined {
    const slot = this.#slots.take();
    if (slot === undefined || this.#tokens === undefined) return slot;
    let isAdmitted = false;
    try {
      isAdmitted = this.#tokens.take();
    } finally {
      if (!isAdmitted) this.#slots.giveUp(slot[0]);
    }
    return isAdmitted ? slot : undefined;
  }

  /** The first promised token's slot, if the token is due. */
  takeDue(nowUs: number): readonly [Slot] | undefined {
    const { first: token } = this.#promised;
    if (token === undefined || token.dueUs > nowUs) {
      this.#stuckUs = undefined;
      return undefined;
    }
    const slot = this.#slotFor(token);
    if (slot === undefined) {
      this.#stuckUs ??= nowUs;
      if (nowUs >= this.#stuckUs + STUCK_US) this.#lapse();
    } else {
      this.#stuckUs = undefined;
      this.#promised.shift();
    }
    return slot;
  }

  #slotFor(token: TokenPromise): readonly [Slot] | undefined {
    const isHeld = this.#held.length > 0;
    const slot = isHeld ? this.#unhold(token) : this.#slots.take();
    if (slot === undefined) this.#slots.ask();
    else if (!isHeld && this.#ahead > 0) this.#ahead--;
    return slot;
  }

  /** The first held slot. After a wait for the token, the `holdMs` of its permit starts again. */
  #unhold(token: TokenPromise): readonly [Slot] | undefined {
    const slot = this.#held.shift();
    return token === DUE ? [slot] : this.#slots.renew(slot);
  }

  /** Returns the tokens promised ahead: calls now wait for slots. */
  #lapse(): void {
    for (; this.#ahead > 0; this.#ahead--) this.#promised.pop()?.cancel();
  }

  /**
   * Promises a slot and a token to one more waiting call, if a slot is free. Returns whether it
   * did; undefined if the token is not due within `maxWaitMs`.
   *
   * @throws the limiter's errors.
   */
  promise(nowUs: number, maxWaitMs: number): boolean | undefined {
    if (this.#isWaiting(nowUs)) return false;
    const isNear = this.#isNear(nowUs);
    const slot = isNear ? this.#slots.take() : undefined;
    if (isNear && slot === undefined) this.#slots.ask();
    if (slot === undefined && !this.#isLosing(nowUs)) return false;
    let token: TokenPromise | undefined;
    try {
      const isDue = this.#tokens === undefined || (!this.promised && this.#tokens.take());
      token = isDue ? DUE : this.#tokens?.promise(maxWaitMs);
    } finally {
      if (token === undefined && slot !== undefined) this.#slots.giveUp(slot[0]);
    }
    if (token === undefined) return undefined;
    if (slot === undefined) this.#ahead++;
    else this.#held.push(slot[0]);
    this.#promised.push(token);
    return true;
  }

  /** Whether a call waits in the queue of a limiter that cannot reserve. */
  #isWaiting(nowUs: number): boolean {
    const { first } = this.#promised;
    return first !== undefined && this.#tokens?.canReserve === false && first.dueUs > nowUs;
  }

  /** Whether a slot should be held for the next token. */
  #isNear(nowUs: number): boolean {
    const { last } = this.#promised;
    return last === undefined || this.#hasOwnSlots || last.dueUs <= nowUs + HOLD_US;
  }

  /**
   * Whether a late look would lose tokens, so that more must be promised than there are slots.
   * False while none is promised, or if the first has been due for long: then calls wait for slots.
   */
  #isLosing(nowUs: number): boolean {
    const { first } = this.#promised;
    if (first === undefined || !this.#tokens?.canReserve) return false;
    if (this.#hasOwnSlots && this.#tokens.rate <= TIMER_TICKS_PER_S) return false;
    return first.dueUs > nowUs - AHEAD_US && this.#tokens.isFullWithin(AHEAD_US / 1000);
  }

  /** Returns promises beyond the number of waiting calls: the latest first, which is exact. */
  trim(waiting: number): void {
    while (this.#promised.length > waiting) {
      this.#promised.pop()?.cancel();
      if (this.#ahead > 0) this.#ahead--;
      else this.#dropSlot();
    }
    if (waiting === 0) {
      this.#stuckUs = undefined;
      this.#slots.unask();
    }
  }

  #dropSlot(): void {
    if (this.#held.length > 0) this.#slots.giveUp(this.#held.pop());
  }

  /**
   * Releases the slot of a call that has finished.
   *
   * @throws RateLimitError `ERR_PERMIT_EXPIRED` if it took longer than the semaphore's `holdMs`.
   */
  finish(slot: Slot): void {
    this.#slots.finish(slot);
  }

  /** Removes a token that will not come; false if it was returned already. */
  #forget(token: TokenPromise): boolean {
    if (!this.#promised.remove(token)) return false;
    this.#dropSlot();
    return true;
  }
}
