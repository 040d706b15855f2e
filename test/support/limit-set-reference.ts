import { Rational } from './rational.ts';

const MILLION = Rational.of(1e6);
const ZERO = Rational.ZERO;
/** Parts of a token: the token index counts in them. */
const UNITS = Rational.of(65_536);
/** The parts of a microsecond that doubles hold for years, and the ticks of rates up to 16,000/s. */
const FINEST = Rational.of(64);
const COARSEST = Rational.of(2 ** 52);

export interface ReferenceLimit {
  readonly rate: number;
  readonly burst: number;
}

/** Reserved tokens: what identifies them, and when they are due. */
export interface Promised {
  readonly tokens: Rational;
  /** The number of tokens taken up to and with these. */
  readonly index: Rational;
  /** The limits under which they were taken. */
  readonly version: number;
  /** What they added to the zero-times, and to the last promised instant. */
  readonly added: readonly Rational[];
  readonly moved: Rational;
  /** An instant of the schedule with this epoch. */
  readonly virtual: Rational;
  readonly epoch: number;
  /** As last asked for, or when they became due; undefined during a pause. */
  dueUs: Rational | undefined;
  isPast: boolean;
}

/** Virtual to real instants: see src/kernel/engine/limit-set/schedule.ts. */
interface Schedule {
  atUs: Rational;
  virtualAt: Rational;
  slope: Rational;
  upTo: Rational;
  epoch: number;
  /** Whole tokens by which bursts were lowered while the pending ones were promised. */
  lowered: number;
  isFrozen: boolean;
}

function max(a: Rational, b: Rational): Rational {
  return a.compare(b) >= 0 ? a : b;
}

function isAfter(a: Rational, b: Rational): boolean {
  return a.compare(b) > 0;
}

/**
 * A limit set in exact arithmetic, for one thread. Each limit has the zero-time of a textbook bucket,
 * in tokens that have arrived since the limits came into force; a call takes from all of them or
 * from none. The rules for promised tokens are those that docs/algorithms-limit-sets.md proves.
 */
export class LimitSetReference {
  readonly #nowUs: () => number;
  #limits: readonly ReferenceLimit[];
  /** The last rates above 0. */
  #flows: Rational[];
  #version = 1;
  #sinceUs: Rational;
  #zero: Rational[];
  #lastUs: Rational | undefined;
  /** The latest instant of a change, and of a charge or change. */
  #changedUs: Rational;
  #chargedUs: Rational;
  #index = ZERO;
  #schedule: Schedule | undefined;
  readonly #promised: Promised[] = [];
  /** Of a key that took nothing: no other one is filled further. */
  #unused: LimitSetReference | undefined;
  /** Whether the engine's doubles and ticks hold every instant so far. */
  #isExact = true;

  constructor(limits: readonly ReferenceLimit[], initial: number, nowUs: () => number) {
    this.#nowUs = nowUs;
    this.#limits = limits;
    this.#flows = limits.map(({ rate }) => Rational.of(rate || 1));
    this.#sinceUs = this.#now;
    this.#changedUs = this.#now;
    this.#chargedUs = this.#now;
    this.#zero = limits.map(() => ZERO.minus(Rational.of(initial)));
  }

  get isExact(): boolean {
    return this.#isExact;
  }

  /** A full one, from which no call takes tokens. */
  static full(limits: readonly ReferenceLimit[], nowUs: () => number): LimitSetReference {
    const full = new LimitSetReference(limits, 0, nowUs);
    full.#zero = limits.map((_, i) => full.#fullAt(i));
    return full;
  }

  /** Another one that holds the same. Precondition: nothing was ever taken. */
  copy(): LimitSetReference {
    const copy = new LimitSetReference(this.#limits, 0, this.#nowUs);
    copy.#flows = this.#flows;
    copy.#sinceUs = this.#sinceUs;
    copy.#changedUs = this.#changedUs;
    copy.#chargedUs = this.#chargedUs;
    copy.#zero = this.#zero;
    copy.#unused = this;
    copy.#version = this.#version;
    return copy;
  }

  get #now(): Rational {
    return Rational.of(this.#nowUs());
  }

  /** Now, or the instant at which a pause has frozen the schedule. */
  get #present(): Rational {
    return this.#schedule?.isFrozen === true ? this.#schedule.atUs : this.#now;
  }

  get limits(): readonly ReferenceLimit[] {
    return this.#limits;
  }

  get burst(): number {
    return Math.min(...this.#limits.map(({ burst }) => burst));
  }

  get #isPaused(): boolean {
    return this.#limits.some(({ rate }) => rate === 0);
  }

  #burstOf(i: number): Rational {
    return Rational.of(this.#limits[i]?.burst ?? 0);
  }

  /** Tokens of a limit in a time, at its flow. */
  #flowIn(i: number, us: Rational): Rational {
    return us.times(this.#flows[i] ?? ZERO).over(MILLION);
  }

  /** Tokens that have arrived since the limits came into force. */
  #arrived(i: number, us: Rational): Rational {
    return this.#limits[i]?.rate === 0 ? ZERO : this.#flowIn(i, us.minus(this.#sinceUs));
  }

  /** A zero-time, raised to its floor at a number of arrived tokens. */
  #floored(i: number, arrived: Rational): Rational {
    return max(this.#zero[i] ?? ZERO, arrived.minus(this.#burstOf(i)));
  }

  /** The zero-time of a full bucket. */
  #fullAt(i: number): Rational {
    const most = this.#unused?.balances()[i] ?? this.#burstOf(i);
    return this.#arrived(i, this.#now).minus(most);
  }

  #isPendingAt(present: Rational): boolean {
    if (this.#schedule?.isFrozen === true) return true;
    return this.#lastUs !== undefined && isAfter(this.#lastUs, present);
  }

  /** Whether tokens are promised that are not due yet. */
  get isPromised(): boolean {
    return this.#isPendingAt(this.#now);
  }

  /** Tokens under each limit, negative in debt. */
  balances(): Rational[] {
    return this.#limits.map((_, i) => {
      const arrived = this.#arrived(i, this.#present);
      return arrived.minus(this.#floored(i, arrived));
    });
  }

  balance(): Rational {
    return this.balances().reduce((least, balance) => least.min(balance));
  }

  /** Microseconds until a limit holds `tokens`, regardless of the queue; undefined if it never will. */
  waitsUs(tokens: number): (Rational | undefined)[] {
    const balances = this.balances();
    return this.#limits.map(({ rate, burst }, i) => {
      const missing = Rational.of(tokens).minus(balances[i] ?? ZERO);
      if (missing.compare(ZERO) <= 0) return ZERO;
      if (tokens > burst || rate === 0) return undefined;
      return missing.times(MILLION).over(Rational.of(rate));
    });
  }

  /** Microseconds until each limit is full; undefined if it never will be. */
  fullsUs(): (Rational | undefined)[] {
    return this.#limits.map(({ burst }, i) => this.waitsUs(burst)[i]);
  }

  /** The longest of {@link waitsUs}. */
  waitUs(tokens: number): Rational | undefined {
    let longest = ZERO;
    for (const wait of this.waitsUs(tokens)) {
      if (wait === undefined) return undefined;
      longest = max(longest, wait);
    }
    return longest;
  }

  /** Microseconds until no limit is in debt. */
  debtUs(): Rational {
    return this.waitUs(0) ?? ZERO;
  }

  /** From the present to the instant for which a take is granted: 0 if now. */
  #spanUs(tokens: number, present = this.#present): Rational {
    let span = ZERO;
    for (const i of this.#limits.keys()) {
      const arrived = this.#arrived(i, present);
      const lack = this.#floored(i, arrived).plus(Rational.of(tokens)).minus(arrived);
      span = max(span, lack.times(MILLION).over(this.#flows[i] ?? ZERO));
    }
    if (this.#lastUs !== undefined && this.#isPendingAt(present)) {
      span = max(span, this.#lastUs.minus(present));
    }
    return span;
  }

  /** Microseconds to wait before taking `tokens`, of which none are always there. */
  waitToTakeUs(tokens: number): Rational | undefined {
    if (tokens === 0) return ZERO;
    if (tokens > this.burst) return undefined;
    const span = this.#spanUs(tokens);
    const isNow = span.compare(ZERO) === 0 && !this.#isPendingAt(this.#present);
    return isNow ? ZERO : this.#isPaused ? undefined : span;
  }

  /** Takes tokens, or returns undefined if that takes longer than `maxWaitUs`. */
  acquire(tokens: number, maxWaitUs = 0): Promised | undefined {
    const waitUs = this.waitToTakeUs(tokens)?.toNumber();
    return waitUs === undefined || waitUs > maxWaitUs ? undefined : this.take(tokens);
  }

  /** Takes at most `most` whole tokens: none while others wait. */
  drain(most: number): number {
    const isPending = this.#isPendingAt(this.#present);
    const held = isPending ? 0 : Math.floor(this.balance().toNumber());
    const taken = Math.max(0, Math.min(Math.floor(most), held));
    this.take(taken);
    return taken;
  }

  /**
   * Empties every limit for a time. A longer debt stays. The admission before it is then no longer
   * the latest.
   */
  block(us: number): void {
    const present = this.#present;
    let isFree = true;
    this.#zero = this.#limits.map(({ rate }, i) => {
      const arrived = this.#arrived(i, present);
      const later = rate === 0 ? ZERO : this.#flowIn(i, Rational.of(us));
      const before = this.#floored(i, arrived);
      if (isAfter(arrived.plus(later), before)) isFree = false;
      return max(before, arrived.plus(later));
    });
    if (isFree) return;
    this.#index = this.#index.plus(Rational.of(1).over(UNITS));
    this.#chargedUs = max(this.#chargedUs, this.#now);
  }

  /** Fills every limit, and forgets what is promised. */
  reset(): void {
    const isPending = this.#isPendingAt(this.#now);
    this.#zero = this.#zero.map((zero, i) => zero.min(this.#fullAt(i)));
    if (!isPending) return;
    if (this.#schedule !== undefined) this.#schedule.isFrozen = false;
    this.#lastUs = this.#now;
    this.#movePromised(false);
  }

  /** Takes what {@link waitToTakeUs} allows, or charges tokens beyond that. */
  take(tokens: number, isCharge = false): Promised {
    let present = this.#present;
    const isPending = this.#isPendingAt(present);
    const isLater = tokens > 0 && !isCharge && (isPending || isAfter(this.#spanUs(tokens), ZERO));
    const freezes = isLater && this.#isPaused && this.#schedule?.isFrozen !== true;
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
    const before = this.#zero;
    if (tokens > 0) {
      this.#zero = this.#limits.map((_, i) => {
        const arrived = this.#arrived(i, present);
        const end = arrived.plus(this.#flowIn(i, span));
        return max(this.#floored(i, arrived).plus(taken), end.minus(this.#burstOf(i)).plus(taken));
      });
      this.#index = this.#index.plus(taken.times(UNITS).ceil().over(UNITS));
      this.#chargedUs = max(this.#chargedUs, this.#now);
    }
    const moved = isLater ? grantedUs.minus(max(last, present)) : ZERO;
    if (isLater) {
      if (!isPending && this.#schedule !== undefined) this.#schedule.lowered = 0;
      this.#lastUs = grantedUs;
      if (freezes) this.#freeze(present);
    }
    const schedule = this.#schedule;
    const virtual = schedule === undefined ? grantedUs : this.#virtualOf(schedule, grantedUs);
    this.#note(grantedUs, virtual);
    const promised: Promised = {
      ...{ tokens: taken, index: this.#index, version: this.#version, moved },
      added: this.#zero.map((zero, i) => zero.minus(before[i] ?? ZERO)),
      virtual,
      epoch: schedule?.epoch ?? 0,
      dueUs: isLater && this.#isPaused ? undefined : grantedUs,
      isPast: !isLater,
    };
    if (isLater) this.#promised.push(promised);
    return promised;
  }

  #note(us: Rational, virtual: Rational): void {
    const ticks = us.times(FINEST);
    const isWhole = ticks.compare(ticks.floor()) === 0;
    const isDouble = virtual.compare(Rational.of(virtual.toNumber())) === 0;
    this.#isExact &&= isWhole && isDouble;
  }

  #start(now: Rational): Schedule {
    this.#schedule ??= {
      ...{ atUs: now, virtualAt: now, slope: Rational.of(1), upTo: ZERO, epoch: 0 },
      ...{ lowered: 0, isFrozen: false },
    };
    return this.#schedule;
  }

  #virtualOf({ atUs, virtualAt, slope }: Schedule, us: Rational): Rational {
    return virtualAt.plus(us.minus(atUs).over(slope));
  }

  /** Begins an epoch: promises so far are due by their index. */
  #restart(schedule: Schedule, pending: Rational, perToken: Rational): void {
    schedule.slope = perToken;
    schedule.virtualAt = ZERO.minus(pending);
    schedule.upTo = this.#index;
    schedule.epoch = this.#version;
    schedule.lowered = 0;
  }

  #freeze(present: Rational): void {
    const schedule = this.#start(present);
    schedule.virtualAt = this.#virtualOf(schedule, present);
    schedule.atUs = present;
    schedule.isFrozen = true;
  }

  /**
   * Asks again when all promised tokens are due. What was due when the limits changed moves no more.
   */
  #movePromised(hasChanged: boolean): void {
    for (const promised of this.#promised) {
      const schedule = this.#schedule;
      if (promised.isPast || schedule === undefined) continue;
      const virtual =
        promised.epoch === schedule.epoch ? promised.virtual : promised.index.minus(schedule.upTo);
      const rest = virtual.minus(schedule.virtualAt);
      // A clock set back may grant an instant before the last change.
      if (rest.compare(ZERO) <= 0) {
        promised.isPast = hasChanged;
        promised.dueUs = promised.dueUs?.min(schedule.atUs) ?? schedule.atUs;
      } else {
        promised.dueUs = schedule.isFrozen
          ? undefined
          : schedule.atUs.plus(rest.times(schedule.slope));
      }
    }
  }

  /**
   * Returns tokens: up to the burst, or, if tokens are promised, by moving those up. True if it did
   * that.
   */
  putBack(tokens: number): boolean {
    const now = this.#now;
    if (this.#schedule?.isFrozen === true) return false;
    if (this.#lastUs !== undefined && isAfter(this.#lastUs, now)) {
      if (tokens === 0) return false;
      const fastest = this.#flows.reduce((one, other) => max(one, other));
      const most = Rational.of(tokens).times(MILLION).over(fastest);
      const shift = most.min(this.#lastUs.minus(now));
      const schedule = this.#start(now);
      schedule.virtualAt = schedule.virtualAt.plus(shift.over(schedule.slope));
      this.#lastUs = this.#lastUs.minus(shift);
      this.#zero = this.#zero.map((zero, i) => zero.minus(this.#flowIn(i, shift)));
      this.#movePromised(false);
      return true;
    }
    this.#zero = this.#zero.map((zero, i) =>
      zero.min(max(this.#fullAt(i), zero.minus(Rational.of(tokens)))),
    );
    return false;
  }

  /** Cancels a take if all later ones were cancelled, and the limits are the same. */
  cancel({ index, version, added, moved, tokens }: Promised): boolean {
    if (tokens.compare(ZERO) === 0) return true;
    if (version !== this.#version || index.compare(this.#index) !== 0) return false;
    this.#zero = this.#zero.map((zero, i) => zero.minus(added[i] ?? ZERO));
    this.#index = index.minus(tokens.times(UNITS).ceil().over(UNITS));
    this.#lastUs = this.#lastUs?.minus(moved);
    const schedule = this.#schedule;
    const isLeft = this.#lastUs !== undefined && isAfter(this.#lastUs, this.#present);
    if (schedule !== undefined && !isLeft) schedule.isFrozen = false;
    return true;
  }

  /** Changes the limits. */
  reconfigure(limits: readonly ReferenceLimit[]): void {
    this.#changedUs = max(this.#now, this.#changedUs);
    for (const promised of this.#promised) {
      if (promised.dueUs !== undefined && !isAfter(promised.dueUs, this.#changedUs)) {
        promised.isPast = true;
      }
    }
    // A charge may be later if the clock was set back.
    const now = max(this.#changedUs, this.#chargedUs);
    this.#chargedUs = now;
    const present = this.#schedule?.isFrozen === true ? this.#schedule.atUs : now;
    const isPending = this.#isPendingAt(present);
    const left = isPending && this.#lastUs ? max(this.#lastUs.minus(present), ZERO) : ZERO;
    const arrived = this.#limits.map((_, i) => this.#arrived(i, present));
    const held = this.#limits.map((_, i) => {
      const end = (arrived[i] ?? ZERO).plus(isPending ? this.#flowIn(i, left) : ZERO);
      return end.minus(this.#zero[i] ?? ZERO).min(this.#burstOf(i));
    });
    const oldLimits = this.#limits;
    const oldFlows = this.#flows;
    let pending = held
      .map((one, i) => this.#flowIn(i, left).plus(this.#burstOf(i)).minus(one))
      .reduce((one, other) => one.min(other));
    this.#limits = limits;
    this.#flows = oldFlows.map((flow, i) => (limits[i]?.rate ? Rational.of(limits[i].rate) : flow));
    this.#sinceUs = now;
    this.#version++;
    if (!isPending) {
      this.#zero = held.map((one, i) => ZERO.minus(one.min(this.#burstOf(i))));
      const schedule = this.#schedule;
      if (schedule === undefined) return;
      // A restart of nothing.
      this.#schedule = {
        ...{ atUs: now, virtualAt: ZERO, slope: Rational.of(1), upTo: this.#index },
        ...{ epoch: this.#version, lowered: 0, isFrozen: false },
      };
      this.#movePromised(true);
      return;
    }
    const stretch = oldFlows
      .map((flow, i) => flow.over(this.#flows[i] ?? ZERO))
      .reduce((one, other) => max(one, other));
    const slowest = this.#flows.reduce((one, other) => one.min(other));
    const perToken = MILLION.over(slowest);
    const schedule = this.#start(now);
    schedule.virtualAt = this.#virtualOf(schedule, present);
    pending = pending.plus(Rational.of(schedule.lowered));
    if (schedule.epoch !== 0 && schedule.virtualAt.compare(ZERO) < 0) {
      pending = pending.min(this.#index.minus(schedule.upTo).minus(schedule.virtualAt));
    }
    // Beyond this, the engine restarts: see src/kernel/engine/limit-set/schedule.ts.
    const virtual = max(schedule.virtualAt, ZERO.minus(schedule.virtualAt));
    this.#isExact &&= !isAfter(virtual.times(schedule.slope).times(stretch), COARSEST);
    const restarts = isAfter(left.times(stretch), pending.times(perToken));
    const span = restarts ? pending.times(perToken) : left.times(stretch);
    const bursts = limits.map(({ burst }, i) => (oldLimits[i]?.burst ?? 0) - burst);
    schedule.lowered += Math.ceil(Math.max(0, ...bursts));
    if (restarts) this.#restart(schedule, pending, perToken);
    else schedule.slope = schedule.slope.times(stretch);
    schedule.atUs = now;
    schedule.isFrozen = this.#isPaused;
    this.#lastUs = now.plus(span);
    this.#note(this.#lastUs, schedule.virtualAt);
    this.#zero = held.map((one, i) =>
      this.#flowIn(i, span).minus(one.min(restarts ? ZERO : this.#burstOf(i))),
    );
    this.#movePromised(true);
  }
}
