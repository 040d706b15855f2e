import { Rational } from '../support/rational.ts';
import { Calls, type Taken } from './calls.ts';
import { Contents, max } from './contents.ts';
import { isAfter, Schedule } from './schedule.ts';

const ZERO = Rational.ZERO;
/** Parts of a token: the token index counts in them. */
const UNITS = Rational.of(65_536);

export interface RateLimit {
  readonly rate: number;
  readonly burst: number;
}

/** Reserved tokens. */
export interface Promised extends Taken {
  /** The number of tokens taken up to and with these. */
  readonly index: Rational;
  /** The limits under which they were taken. */
  readonly version: number;
  /** What they added to the zero-times, and to the last promised instant. */
  readonly added: readonly Rational[];
  readonly moved: Rational;
  /** An instant of the schedule with this anchor. */
  readonly virtual: Rational;
  readonly anchor: number;
  /** As last asked for, or when they became due; undefined during a pause. */
  dueUs: Rational | undefined;
  isPast: boolean;
}

/**
 * A `LimitSet`, or a key of a `KeyedLimitSet`. A call takes from all limits or from none. The rules
 * for promised tokens are those that docs/algorithms-limit-sets.md proves.
 */
export class LimitSetOracle extends Calls<Promised> {
  #all: readonly Contents[];
  #version = 1;
  #lastUs: Rational | undefined;
  /** The latest instant of a change, and of a charge or change. */
  #changedUs: Rational;
  #chargedUs: Rational;
  #index = ZERO;
  #schedule: Schedule | undefined;
  readonly #promised: Promised[] = [];
  /** Of a key that took nothing: no other one is filled further. */
  #unused: LimitSetOracle | undefined;

  constructor(limits: readonly RateLimit[], initial: number, nowUs: () => number) {
    super(nowUs);
    this.#changedUs = this.now;
    this.#chargedUs = this.now;
    const zero = ZERO.minus(Rational.of(initial));
    this.#all = limits.map((limit) => new Contents(limit, this.now, zero));
  }

  /** A full one, from which no call takes tokens. */
  static full(limits: readonly RateLimit[], nowUs: () => number): LimitSetOracle {
    const full = new LimitSetOracle(limits, 0, nowUs);
    full.#all = limits.map((limit) => Contents.full(limit, full.now));
    return full;
  }

  /** Another one that holds the same. Precondition: nothing was ever taken. */
  copy(): LimitSetOracle {
    const copy = new LimitSetOracle([], 0, this.nowUs);
    copy.#all = this.#all;
    copy.#changedUs = this.#changedUs;
    copy.#chargedUs = this.#chargedUs;
    copy.#unused = this;
    copy.#version = this.#version;
    return copy;
  }

  /** Whether the engine's doubles and ticks hold every instant so far. */
  isExact = true;

  /** Now, or the instant at which a pause has frozen what is promised. */
  get #present(): Rational {
    return this.#frozenUs ?? this.now;
  }

  get #frozenUs(): Rational | undefined {
    const isFrozen = this.#schedule?.isFrozen === true && this.#lastUs !== undefined;
    return isFrozen ? this.#schedule?.atUs : undefined;
  }

  get limits(): readonly RateLimit[] {
    return this.#all.map(({ limit }) => limit as RateLimit); // it was given these
  }

  override get burst(): number {
    return Math.min(...this.#all.map(({ limit }) => limit.burst));
  }

  get #isPaused(): boolean {
    return this.#all.some(({ isPaused }) => isPaused);
  }

  /** The most that a limit holds. */
  #mostOf(i: number, { burst }: Contents): Rational {
    return this.#unused?.balances()[i] ?? burst;
  }

  #isPendingAt(present: Rational): boolean {
    if (this.#lastUs === undefined) return false;
    return this.#frozenUs !== undefined || isAfter(this.#lastUs, present);
  }

  /** Whether tokens are promised that are not due yet. */
  get isPromised(): boolean {
    return this.#isPendingAt(this.now);
  }

  override balances(): Rational[] {
    return this.#all.map((one) => one.balance(this.#present));
  }

  override balance(): Rational {
    return this.balances().reduce((least, balance) => least.min(balance));
  }

  /** Microseconds until a limit holds `tokens`, regardless of the queue; undefined if it never will. */
  waitsUs(tokens: number): (Rational | undefined)[] {
    return this.#all.map((one) => one.waitUs(Rational.of(tokens), this.#present));
  }

  /** Microseconds until each limit is full; undefined if it never will be. */
  fullsUs(): (Rational | undefined)[] {
    return this.#all.map((one) => one.waitUs(one.burst, this.#present));
  }

  override waitUs(tokens: number): Rational | undefined {
    return longest(this.waitsUs(tokens));
  }

  override fullUs(): Rational | undefined {
    return longest(this.fullsUs());
  }

  /** From the present to the instant for which a take is granted: 0 if now. */
  #spanUs(tokens: number, present = this.#present): Rational {
    let span = ZERO;
    for (const one of this.#all) {
      const arrived = one.arrivedBy(present);
      const lack = one.floored(arrived).plus(Rational.of(tokens)).minus(arrived);
      span = max(span, lack.over(one.flow));
    }
    if (this.#lastUs !== undefined && this.#isPendingAt(present)) {
      span = max(span, this.#lastUs.minus(present));
    }
    return span;
  }

  override waitToTakeUs(tokens: number): Rational | undefined {
    if (tokens === 0) return ZERO;
    if (tokens > this.burst) return undefined;
    const span = this.#spanUs(tokens);
    const isNow = span.compare(ZERO) === 0 && !this.#isPendingAt(this.#present);
    return isNow ? ZERO : this.#isPaused ? undefined : span;
  }

  /** Nobody can wait for tokens during a pause, but limits that are not paused fill up. */
  override retryUs(tokens: number): Rational | undefined {
    const isIdle = tokens > 0 && this.#isPaused && !this.#isPendingAt(this.#present);
    return isIdle && tokens <= this.burst ? this.waitUs(tokens) : this.waitToTakeUs(tokens);
  }

  /** None while others wait. */
  override drain(most: number): number {
    return super.drain(this.#isPendingAt(this.#present) ? 0 : most);
  }

  /**
   * Empties every limit for a time. A longer debt stays. The admission before it is then no longer
   * the latest.
   */
  block(us: number): void {
    const present = this.#present;
    const before = this.#all.map((one) => one.floored(one.arrivedBy(present)));
    this.#all = this.#all.map((one) => one.blocked(present, Rational.of(us)));
    if (this.#all.every(({ zero }, i) => zero.compare(before[i] ?? ZERO) === 0)) return;
    this.#index = this.#index.plus(Rational.of(1).over(UNITS));
    this.#chargedUs = max(this.#chargedUs, this.now);
  }

  /**
   * Fills every limit. What is promised keeps its instants, but no limit counts it any more. The
   * admission before it is then no longer the latest.
   */
  reset(): void {
    const isPending = this.#isPendingAt(this.now);
    const before = this.#all;
    this.#all = before.map((one, i) => this.#filled(one, i));
    const isSame = this.#all.every(({ zero }, i) => zero.compare(before[i]?.zero ?? ZERO) === 0);
    if (isPending || !isSame) this.#index = this.#index.plus(Rational.of(1).over(UNITS));
    if (!isPending || this.#lastUs === undefined) return;
    this.#start(this.now).forget(this.#lastUs);
    this.#lastUs = undefined;
    this.#movePromised(false);
  }

  /** With returned tokens, or full. */
  #filled(one: Contents, i: number, tokens?: Rational): Contents {
    const fullAt = one.arrivedBy(this.now).minus(this.#mostOf(i, one));
    const next = tokens === undefined ? fullAt : max(fullAt, one.zero.minus(tokens));
    return one.withZero(one.zero.min(next));
  }

  /** Takes what {@link waitToTakeUs} allows, or charges tokens beyond that. */
  override take(tokens: number, isCharge = false): Promised {
    let present = this.#present;
    const waitUs = this.waitToTakeUs(tokens);
    const isPending = this.#isPendingAt(present);
    const isLater = tokens > 0 && !isCharge && (isPending || isAfter(this.#spanUs(tokens), ZERO));
    const freezes = isLater && this.#isPaused && this.#frozenUs === undefined;
    // What was taken later, if the clock was set back since, is no debt.
    if (freezes) present = max(present, this.#chargedUs);
    const last = this.#lastUs ?? present;
    const span = isLater
      ? this.#spanUs(tokens, present)
      : isCharge && isPending
        ? max(last.minus(present), ZERO)
        : ZERO;
    const grantedUs = present.plus(span);
    const taken = Rational.of(tokens);
    const before = this.#all;
    if (tokens > 0) {
      this.#all = before.map((one) => one.taking(taken, present, span));
      this.#index = this.#index.plus(taken.times(UNITS).ceil().over(UNITS));
      this.#chargedUs = max(this.#chargedUs, this.now);
    }
    const moved = isLater ? grantedUs.minus(max(last, present)) : ZERO;
    if (isLater) {
      if (!isPending && this.#schedule !== undefined) this.#schedule.lowered = 0;
      this.#lastUs = grantedUs;
      if (freezes) this.#start(present).moveTo(present, true);
    }
    const schedule = this.#schedule;
    const virtual = schedule?.virtualOf(grantedUs) ?? grantedUs;
    this.isExact &&= Schedule.isExact(grantedUs, virtual);
    const promised: Promised = {
      ...{ n: tokens, waitUs, index: this.#index, version: this.#version, moved },
      added: this.#all.map(({ zero }, i) => zero.minus(before[i]?.zero ?? ZERO)),
      ...{ virtual, anchor: schedule?.anchor ?? 0 },
      dueUs: isLater && this.#isPaused ? undefined : grantedUs,
      isPast: !isLater,
      due: () => (promised.isPast ? 'past' : promised.dueUs),
      cancel: () => this.#cancel(promised),
    };
    if (isLater) this.#promised.push(promised);
    return promised;
  }

  #start(us: Rational): Schedule {
    this.#schedule ??= new Schedule(us);
    return this.#schedule;
  }

  /**
   * Asks again when all promised tokens are due. What was due when the limits changed moves no more.
   */
  #movePromised(hasChanged: boolean): void {
    for (const promised of this.#promised) {
      if (promised.isPast || this.#schedule === undefined) continue;
      const { isPast, dueUs } = this.#schedule.dueOf(promised);
      promised.isPast = isPast && hasChanged;
      // A clock set back may grant an instant before the last change.
      promised.dueUs = isPast ? dueUs?.min(promised.dueUs ?? dueUs) : dueUs;
    }
  }

  /** Up to the burst, or, if tokens are promised, by moving those up. */
  override putBack(tokens: number): boolean {
    const now = this.now;
    if (this.#frozenUs !== undefined) return false;
    if (this.#lastUs !== undefined && isAfter(this.#lastUs, now)) {
      if (tokens === 0) return false;
      const fastest = this.#all.map(({ flow }) => flow).reduce(max);
      const shift = Rational.of(tokens).over(fastest).min(this.#lastUs.minus(now));
      this.#start(now).moveUp(shift);
      this.#lastUs = this.#lastUs.minus(shift);
      this.#all = this.#all.map((one) => one.withZero(one.zero.minus(one.flowIn(shift))));
      this.#movePromised(false);
      return true;
    }
    this.#all = this.#all.map((one, i) => this.#filled(one, i, Rational.of(tokens)));
    return false;
  }

  /** If all later ones were cancelled, and the limits are the same. */
  #cancel({ index, version, added, moved, n }: Promised): boolean {
    if (n === 0) return true;
    if (version !== this.#version || index.compare(this.#index) !== 0) return false;
    this.#all = this.#all.map((one, i) => one.withZero(one.zero.minus(added[i] ?? ZERO)));
    this.#index = index.minus(Rational.of(n).times(UNITS).ceil().over(UNITS));
    this.#lastUs = this.#lastUs?.minus(moved);
    const isFrozen = this.#frozenUs !== undefined;
    if (isFrozen && this.#lastUs && !isAfter(this.#lastUs, this.#present)) this.#lastUs = undefined;
    return true;
  }

  /** Changes the limits. */
  reconfigure(limits: readonly RateLimit[]): void {
    this.#changedUs = max(this.now, this.#changedUs);
    for (const promised of this.#promised) {
      if (promised.dueUs !== undefined && !isAfter(promised.dueUs, this.#changedUs)) {
        promised.isPast = true;
      }
    }
    // A charge may be later if the clock was set back.
    const now = max(this.#changedUs, this.#chargedUs);
    this.#chargedUs = now;
    const present = this.#frozenUs ?? now;
    const isPending = this.#isPendingAt(present);
    const left = isPending && this.#lastUs ? max(this.#lastUs.minus(present), ZERO) : ZERO;
    const old = this.#all;
    const held = old.map((one) =>
      one.arrivedBy(present).plus(one.flowIn(left)).minus(one.zero).min(one.burst),
    );
    const next = limits.map((limit, i) => {
      const flow = limit.rate === 0 ? old[i]?.flow : undefined;
      return new Contents(limit, now, ZERO, flow);
    });
    this.#version++;
    const isPaused = next.some((one) => one.isPaused);
    const stretch = old.map(({ flow }, i) => flow.over(next[i]?.flow ?? ZERO)).reduce(max);
    const slowest = slowestOf(next);
    if (!isPending) {
      this.#lastUs = undefined;
      this.#all = next.map((one, i) => one.withZero(ZERO.minus(one.burst.min(held[i] ?? ZERO))));
      const schedule = this.#schedule;
      if (schedule === undefined) return;
      schedule.moveTo(now, isPaused);
      if (schedule.isKept) schedule.stretchBy(slowestOf(old).over(slowest));
      // Otherwise a restart of nothing.
      else schedule.begin(ZERO, Rational.of(1), this.#index, this.#version);
      this.#movePromised(true);
      return;
    }
    const schedule = this.#start(now);
    const most = old
      .map((one, i) =>
        one
          .flowIn(left)
          .plus(one.burst)
          .minus(held[i] ?? ZERO),
      )
      .reduce((one, other) => one.min(other));
    const lowered = old.map(({ limit }, i) => limit.burst - (limits[i]?.burst ?? 0));
    const { span, restarts, isExact } = schedule.change({
      ...{ now, left, most, index: this.#index, version: this.#version, isPaused, stretch },
      ...{ lowered: Math.ceil(Math.max(0, ...lowered)), slowest },
    });
    this.isExact &&= isExact;
    this.#lastUs = now.plus(span);
    this.isExact &&= Schedule.isExact(this.#lastUs, schedule.virtualAt);
    this.#all = next.map((one, i) => {
      const kept = (held[i] ?? ZERO).min(restarts ? ZERO : one.burst);
      return one.withZero(one.flowIn(span).minus(kept));
    });
    this.#movePromised(true);
  }
}

function slowestOf(limits: readonly Contents[]): Rational {
  return limits.map(({ flow }) => flow).reduce((one, other) => one.min(other));
}

function longest(waits: readonly (Rational | undefined)[]): Rational | undefined {
  let longest = ZERO;
  for (const wait of waits) {
    if (wait === undefined) return undefined;
    longest = max(longest, wait);
  }
  return longest;
}
