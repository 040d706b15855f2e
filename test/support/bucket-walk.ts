import { expect } from 'vitest';
import {
  LeakyBucket,
  type ManualClock,
  REFUSED,
  type Reservation,
  type TokenBucket,
} from '../../src/index.ts';
import { toNumber } from '../oracle/calls.ts';
import type { Limit } from '../oracle/contents.ts';
import { type Promised, TokenBucketOracle } from '../oracle/token-bucket.ts';
import { Rational } from './rational.ts';

/** One call on the bucket, or one change of its clock or limit. */
export type Step =
  | { readonly call: 'tryConsume' | 'consumeOrDrain' | 'decide'; readonly n: number }
  | { readonly call: 'acquire' | 'reserve'; readonly n: number; readonly maxWaitMs: number }
  | { readonly call: 'returnTokens' | 'charge' | 'look'; readonly n: number }
  | { readonly call: 'cancel'; readonly which: number }
  | { readonly call: 'move'; readonly ms: number }
  | { readonly call: 'reconfigure'; readonly limit: Limit };

const TOO_BIG = /^n must be at most /;
/** A bucket renews its record every 2^52 ticks, which is 6 to 19 days. */
const SHORT_US = 1 * 86_400e6;
const LONG_US = 19.5 * 86_400e6;

interface Held {
  readonly ours: Reservation;
  readonly theirs: Promised;
  /** When the record went live at which it was found due: nothing moves it any more. */
  pastUs?: number;
  /** Whether its tokens were kept and returned when it was asked for: the answer then stays. */
  wasKept?: boolean;
}

/** Runs a bucket and the reference side by side and compares every answer. */
export class BucketWalk {
  readonly #bucket: TokenBucket | LeakyBucket;
  readonly #clock: ManualClock;
  readonly #reference: TokenBucketOracle;
  readonly #rounded: boolean;
  readonly #rounding: AcceptedRounding;
  readonly #held: Held[] = [];
  /** When the current limit took effect. */
  #sinceUs: number;

  constructor(
    bucket: TokenBucket | LeakyBucket,
    clock: ManualClock,
    limit: Limit,
    initial: number,
    rounded: boolean,
  ) {
    this.#bucket = bucket;
    this.#clock = clock;
    this.#reference = new TokenBucketOracle(limit, initial, () => clock.now());
    this.#rounded = rounded;
    this.#rounding = new AcceptedRounding(rounded);
    this.#sinceUs = clock.now();
    this.#allow(4);
  }

  /** Accepts the rounding of this many ticks more. */
  #allow(ticks: number): void {
    this.#rounding.allow(ticks, this.#reference.limit);
  }

  #sameMs(what: string, ours: number, exactUs: Rational | undefined): void {
    this.#rounding.sameMs(what, ours, exactUs, this.#reference.limit, this.#clock.now());
  }

  step(step: Step): void {
    const bucket = this.#bucket;
    const reference = this.#reference;
    if ('n' in step && !Number.isInteger(step.n)) this.#allow(1);
    if (!['move', 'cancel', 'reconfigure'].includes(step.call)) this.#renew();
    switch (step.call) {
      case 'tryConsume': {
        const ours = bucket.tryConsume(step.n);
        this.#rounding.check('tryConsume', ours, this.#marginNow(step.n));
        if (ours) reference.take(step.n);
        break;
      }
      case 'consumeOrDrain':
        this.#drain(step.n);
        break;
      case 'decide':
        this.#decide(step.n);
        break;
      case 'acquire': {
        if (this.#isTooBig(step.n)) {
          expect(() => bucket.acquire(step.n, step.maxWaitMs)).toThrow(TOO_BIG);
          break;
        }
        const waitMs = bucket.acquire(step.n, step.maxWaitMs);
        this.#checkWait(step.n, step.maxWaitMs, waitMs === REFUSED ? undefined : waitMs);
        break;
      }
      case 'reserve':
        this.#reserve(step.n, step.maxWaitMs);
        break;
      case 'cancel':
        this.#cancel(step.which);
        break;
      case 'returnTokens':
        // Whether it is in debt, and so what the return moves, is a matter of rounding.
        if (this.#rounding.covers(reference.balance())) this.#held.length = 0;
        bucket.returnTokens(step.n);
        reference.putBack(step.n);
        break;
      case 'charge':
        this.#charge(step.n);
        break;
      case 'look':
        for (const held of this.#held) this.#due(held);
        this.#rounding.sameTokens('balance', bucket.balance(), reference.balance());
        expect(bucket.available()).toBe(Math.max(0, bucket.balance()));
        this.#sameMs('timeUntil', bucket.timeUntil(step.n), reference.waitUs(step.n));
        break;
      case 'move':
        if (step.ms >= 0) this.#clock.advance(step.ms);
        else this.#clock.set(this.#clock.nowMs + step.ms);
        break;
      case 'reconfigure':
        this.#reconfigure(step.limit);
        break;
    }
  }

  /** Steps are shorter than SHORT_US or longer than LONG_US, so renewals are predictable. */
  #renew(): void {
    const passedUs = this.#clock.now() - this.#sinceUs;
    if (passedUs < SHORT_US) return;
    expect(passedUs).toBeGreaterThan(LONG_US);
    this.#sinceUs = this.#clock.now();
    this.#reference.renew();
    this.#allow(4);
  }

  /** Tokens left after taking `n`: the call is admitted if not negative, or if `n` is 0. */
  #marginNow(n: number): Rational {
    if (n === 0) return Rational.ZERO;
    return this.#reference.balance().minus(Rational.of(n));
  }

  /** Checks the result of a call that may wait, and updates the reference. */
  #checkWait(n: number, maxWaitMs: number, waitMs: number | undefined): Promised | undefined {
    const { limit } = this.#reference;
    const exactUs = this.#reference.waitToTakeUs(n);
    if (exactUs === undefined) {
      expect(waitMs, 'more than the burst').toBe(undefined);
      return undefined;
    }
    if (Number.isFinite(maxWaitMs)) {
      const spareUs = Rational.of(maxWaitMs * 1000).minus(exactUs);
      const tokensPerUs = 'rate' in limit ? limit.rate / 1e6 : 1;
      this.#rounding.check(
        'admitted',
        waitMs !== undefined,
        spareUs.times(Rational.of(tokensPerUs)),
      );
    } else {
      expect(waitMs, 'a wait without a maximum').not.toBe(undefined);
    }
    if (waitMs === undefined) return undefined;
    this.#sameMs('wait', waitMs, exactUs);
    return this.#reference.take(n);
  }

  #charge(n: number): void {
    const debtMs = this.#bucket.charge(n);
    this.#reference.take(n);
    if (n > 0) this.#sameMs('charge', debtMs, this.#reference.waitUs(0));
  }

  #drain(n: number): void {
    const most = Math.floor(n);
    const taken = this.#bucket.consumeOrDrain(n);
    const balance = this.#reference.balance();
    const whole = (tokens: Rational) => Math.min(most, Math.max(0, tokens.floor().toNumber()));
    expect(taken, 'consumeOrDrain').toBeGreaterThanOrEqual(
      whole(balance.minus(this.#rounding.tokens)),
    );
    expect(taken, 'consumeOrDrain').toBeLessThanOrEqual(whole(balance.plus(this.#rounding.tokens)));
    this.#reference.take(taken);
  }

  #decide(n: number): void {
    const reference = this.#reference;
    const decision = this.#bucket.decide(n);
    this.#rounding.check('decide', decision.allowed, this.#marginNow(n));
    if (decision.allowed) reference.take(n);
    const whole = (tokens: Rational) => Math.max(0, tokens.floor().toNumber());
    const balance = reference.balance();
    expect(decision.limit).toBe(reference.limit.burst);
    expect(decision.remaining).toBeGreaterThanOrEqual(whole(balance.minus(this.#rounding.tokens)));
    expect(decision.remaining).toBeLessThanOrEqual(whole(balance.plus(this.#rounding.tokens)));
    const retryUs = decision.allowed ? Rational.ZERO : reference.waitUs(n);
    this.#sameMs('retryAfterMs', decision.retryAfterMs, retryUs);
    this.#sameMs('resetMs', decision.resetMs, reference.waitUs(reference.limit.burst));
    this.#sameMs('nextTokenMs', decision.nextTokenMs, reference.waitUs(decision.remaining + 1));
  }

  #isTooBig(n: number): boolean {
    return Rational.of(n).compare(Rational.of(this.#reference.limit.burst)) > 0;
  }

  /** Compares when a reservation is due, in the bucket and in the reference. */
  #due(held: Held): void {
    const { ours, theirs } = held;
    const dueUs = this.#reference.dueUs(theirs);
    // Where all is rounded, a fill may come one interval sooner.
    if (ours.waitMs === 0 || this.#rounded) return;
    const { recordUs, recordNumber } = this.#reference;
    if (dueUs === 'past' && recordNumber > theirs.recordNumber) held.pastUs ??= recordUs;
    if (held.pastUs !== undefined) expect(ours.dueUs).toBeLessThanOrEqual(held.pastUs);
    else if (dueUs === 'past') expect(ours.dueUs).toBeLessThanOrEqual(recordUs);
    else {
      const latestUs = toNumber(dueUs);
      held.wasKept ||= this.#reference.wasKept(theirs);
      const oursUs = held.wasKept ? Math.max(ours.dueUs, latestUs) : ours.dueUs;
      this.#sameMs('dueUs', oursUs / 1000, dueUs);
    }
  }

  #reserve(n: number, maxWaitMs: number): void {
    if (this.#isTooBig(n)) {
      expect(() => this.#bucket.reserve(n, { maxWaitMs })).toThrow(TOO_BIG);
      return;
    }
    const ours = this.#bucket.reserve(n, { maxWaitMs });
    const theirs = this.#checkWait(n, maxWaitMs, ours?.waitMs);
    if (ours !== undefined && theirs !== undefined) this.#held.push({ ours, theirs });
  }

  #cancel(which: number): void {
    const [held] = this.#held.splice(which % Math.max(1, this.#held.length), 1);
    if (held === undefined) return;
    if (this.#clock.now() > held.ours.dueUs) expect(held.ours.cancel(), 'late').toBe(false);
    const cancelled = held.ours.putBack();
    const moved = this.#reference.movedSince(held.theirs, held.ours.waitMs > 0);
    // A rounded return of less than a tick moves nothing.
    if (moved === undefined ? !this.#rounded : moved.compare(this.#rounding.tokens) > 0) {
      expect(cancelled, 'cancel of a reservation that others stand on').toBe(false);
    } else if (!this.#rounded) {
      expect(cancelled, 'cancel of the latest reservation').toBe(true);
    }
    if (cancelled) this.#reference.undo(held.theirs);
  }

  #reconfigure(limit: Limit): void {
    const bucket = this.#bucket;
    if (bucket instanceof LeakyBucket) {
      if ('rate' in limit) bucket.reconfigure({ rate: limit.rate, slack: limit.burst - 1 });
    } else bucket.reconfigure(limit);
    this.#allow(1);
    this.#sinceUs = this.#clock.now();
    this.#reference.reconfigure(limit);
    this.#allow(4);
  }
}

const TICKS_PER_SECOND = 4096e6;
const MORE_THAN_A_TICK_US = 1 / 2048;

/**
 * Compares answers with exact ones. If costs and instants are whole numbers of ticks, they must
 * agree exactly. Otherwise (`isRounded`) it adds up the documented roundings, and accepts a decision
 * if the exact margin is smaller than their sum.
 */
export class AcceptedRounding {
  readonly #isRounded: boolean;
  #tokens = Rational.ZERO;

  constructor(isRounded: boolean) {
    this.#isRounded = isRounded;
  }

  /** The sum of the roundings so far, in tokens. */
  get tokens(): Rational {
    return this.#tokens;
  }

  /** Accepts this many ticks more, of a bucket with this limit. */
  allow(ticks: number, limit: Limit): void {
    if (!this.#isRounded || !('rate' in limit)) return;
    const ticksPerToken = Math.max(1, Math.round(TICKS_PER_SECOND / limit.rate));
    this.#tokens = this.#tokens.plus(Rational.of(ticks).over(Rational.of(ticksPerToken)));
  }

  /** Whether so few tokens are a matter of rounding. */
  covers(tokens: Rational): boolean {
    return this.#isRounded && tokens.abs().compare(this.#tokens) <= 0;
  }

  /** A decision, which is right if the margin is not negative. */
  check(what: string, ours: boolean, margin: Rational): void {
    if (this.covers(margin)) return;
    expect(ours, `${what}, by ${margin.toNumber()} tokens`).toBe(
      margin.compare(Rational.ZERO) >= 0,
    );
  }

  sameTokens(what: string, ours: number, exact: Rational): void {
    same(what, ours, exact, this.#tokens);
  }

  /** A duration of a bucket with this limit, at an instant. */
  sameMs(
    what: string,
    ours: number,
    exactUs: Rational | undefined,
    limit: Limit,
    nowUs: number,
  ): void {
    // Instants are doubles too: the larger they are, the coarser.
    const grainUs = 2 ** -48 * Math.abs(nowUs) + MORE_THAN_A_TICK_US;
    const grain = Rational.of(this.#isRounded ? grainUs : 0);
    const allowedUs =
      'rate' in limit
        ? this.#tokens.over(Rational.of(limit.rate / 1e6)).plus(grain)
        : this.#tokens.plus(grain);
    const thousand = Rational.of(1000);
    same(what, ours, exactUs?.over(thousand), allowedUs.over(thousand));
  }
}

/** Compares a number with an exact one, up to the rounding of the final division. */
function same(what: string, ours: number, exact: Rational | undefined, allowance: Rational): void {
  const wanted = exact?.toNumber() ?? Number.POSITIVE_INFINITY;
  if (exact === undefined || !Number.isFinite(ours)) {
    expect(ours, what).toBe(wanted);
    return;
  }
  const slack = allowance.plus(exact.abs().times(Rational.of(2 ** -50)));
  const close = Rational.of(ours).minus(exact).abs().compare(slack) <= 0;
  if (!close) expect(ours, what).toBe(wanted);
}
