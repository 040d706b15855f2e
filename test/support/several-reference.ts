import { Rational } from './rational.ts';

const MILLION = Rational.of(1e6);

export interface ReferenceLimit {
  readonly rate: number;
  readonly burst: number;
}

/** The state under one limit. */
interface Account {
  limit: ReferenceLimit;
  /** When the limit came into force. */
  sinceUs: Rational;
  /** Tokens taken or spilled since then; negative if there were tokens at the start. */
  gone: Rational;
}

/** Reserved tokens: when they are due, and what identifies them. */
export interface Promised {
  readonly tokens: Rational;
  readonly mark: object;
  readonly before: object;
  readonly limits: object;
  /** For each limit, the value of `gone` that its inflow must reach. */
  places: Rational[];
  dueUs: Rational;
  isPast: boolean;
}

function max(a: Rational, b: Rational): Rational {
  return a.compare(b) >= 0 ? a : b;
}

/**
 * A bucket with several limits in exact arithmetic: slow, for one thread, and independent of the
 * library's code. Each limit has a textbook bucket of its own; a call takes from all of them or from
 * none.
 */
export class SeveralReference {
  readonly #nowUs: () => number;
  readonly #accounts: Account[];
  /** The latest take that was not cancelled, and the limits in force. */
  #mark: object = {};
  #limits: object = {};
  /** Those that are not due: nothing moves the others. */
  #promised: Promised[] = [];

  constructor(limits: readonly ReferenceLimit[], initial: number, nowUs: () => number) {
    this.#nowUs = nowUs;
    const gone = Rational.ZERO.minus(Rational.of(initial));
    const sinceUs = this.#now;
    this.#accounts = limits.map((limit) => ({ limit, sinceUs, gone }));
  }

  get #now(): Rational {
    return Rational.of(this.#nowUs());
  }

  get limits(): readonly ReferenceLimit[] {
    return this.#accounts.map(({ limit }) => limit);
  }

  get burst(): number {
    return Math.min(...this.limits.map(({ burst }) => burst));
  }

  #inflow({ limit, sinceUs }: Account): Rational {
    return this.#now.minus(sinceUs).times(Rational.of(limit.rate)).over(MILLION);
  }

  /** Tokens under each limit, negative in debt. */
  balances(): Rational[] {
    return this.#accounts.map((account) =>
      this.#inflow(account).minus(account.gone).min(Rational.of(account.limit.burst)),
    );
  }

  balance(): Rational {
    return this.balances().reduce((least, balance) => least.min(balance));
  }

  /** Microseconds until a limit holds `tokens`; undefined if it never will. */
  waitsUs(tokens: number): (Rational | undefined)[] {
    const balances = this.balances();
    return this.#accounts.map(({ limit }, i) => {
      const missing = Rational.of(tokens).minus(balances[i] ?? Rational.ZERO);
      if (missing.compare(Rational.ZERO) <= 0) return Rational.ZERO;
      if (tokens > limit.burst) return undefined;
      return missing.times(MILLION).over(Rational.of(limit.rate));
    });
  }

  /** Microseconds to wait before taking `tokens`: none are always there. */
  waitToTakeUs(tokens: number): Rational | undefined {
    return tokens === 0 ? Rational.ZERO : this.waitUs(tokens);
  }

  /** The longest of {@link waitsUs}. */
  waitUs(tokens: number): Rational | undefined {
    let longest = Rational.ZERO;
    for (const wait of this.waitsUs(tokens)) {
      if (wait === undefined) return undefined;
      longest = max(longest, wait);
    }
    return longest;
  }

  /** Microseconds until no limit is in debt. */
  debtUs(): Rational {
    return this.waitUs(0) ?? Rational.ZERO;
  }

  #setBalances(balances: readonly Rational[]): void {
    for (const [i, account] of this.#accounts.entries()) {
      account.gone = this.#inflow(account).minus(balances[i] ?? Rational.ZERO);
    }
  }

  take(tokens: number): Promised {
    const taken = Rational.of(tokens);
    const before = this.#mark;
    const dueUs = this.#now.plus(this.waitToTakeUs(tokens) ?? Rational.ZERO);
    if (tokens > 0) {
      this.#mark = {};
      this.#setBalances(this.balances().map((balance) => balance.minus(taken)));
    }
    const isPast = dueUs.compare(this.#now) <= 0;
    const promised = {
      ...{ tokens: taken, mark: this.#mark, before, limits: this.#limits, dueUs, isPast },
      places: this.#accounts.map(({ gone }) => gone),
    };
    if (!isPast) this.#promised.push(promised);
    return promised;
  }

  /** Moves the promised tokens by as much as the bucket moved under each limit. */
  #movePromised(before: readonly Rational[]): void {
    for (const promised of this.#promised) {
      promised.places = promised.places.map((place, i) => {
        const gone = this.#accounts[i]?.gone ?? Rational.ZERO;
        return gone.minus((before[i] ?? Rational.ZERO).minus(place));
      });
      let dueUs = this.#dueUnder(promised, 0);
      for (const i of this.#accounts.keys()) dueUs = max(dueUs, this.#dueUnder(promised, i));
      promised.isPast = dueUs.compare(this.#now) <= 0;
      promised.dueUs = promised.isPast ? promised.dueUs.min(this.#now) : dueUs;
    }
    this.#promised = this.#promised.filter(({ isPast }) => !isPast);
  }

  #dueUnder({ places }: Promised, i: number): Rational {
    const { limit, sinceUs, gone } = this.#accounts[i] as Account; // i is a limit's
    // Nothing is due after the whole debt.
    const place = gone.min(places[i] ?? Rational.ZERO);
    return sinceUs.plus(place.times(MILLION).over(Rational.of(limit.rate)));
  }

  /** Returns tokens, up to the burst. Promised tokens move up. */
  putBack(tokens: number): void {
    const isInDebt = this.balance().compare(Rational.ZERO) < 0;
    const before = this.#accounts.map((account) => account.gone);
    const back = Rational.of(tokens);
    for (const account of this.#accounts) {
      const full = this.#inflow(account).minus(Rational.of(account.limit.burst));
      account.gone = account.gone.min(max(full, account.gone.minus(back)));
    }
    if (isInDebt && tokens > 0) this.#movePromised(before);
  }

  /** Cancels a take if all later ones were cancelled, and the limits are the same. */
  cancel({ mark, before, limits, tokens }: Promised): boolean {
    if (mark !== this.#mark || limits !== this.#limits) return false;
    this.#mark = before;
    for (const account of this.#accounts) account.gone = account.gone.minus(tokens);
    return true;
  }

  /**
   * Changes limits. Each limit gets tokens that are promised but not due back, up to its new burst,
   * and then gives them again.
   */
  reconfigure(limits: readonly ReferenceLimit[]): void {
    const pending = max(Rational.ZERO.minus(this.balance()), Rational.ZERO);
    const gone = this.#accounts.map((account) => account.gone);
    const balances = this.balances();
    const isPending = pending.compare(Rational.ZERO) > 0;
    const next = this.#accounts.map((account, i) => {
      const { limit } = account;
      const { rate, burst } = limits[i] ?? limit;
      const isSame = rate === limit.rate && burst === limit.burst;
      // Not capped at a time that may be before that of other calls.
      if (isSame && !isPending) return this.#inflow(account).minus(account.gone);
      const without = (balances[i] ?? Rational.ZERO).plus(pending).min(Rational.of(limit.burst));
      return without.min(Rational.of(limits[i]?.burst ?? 0)).minus(pending);
    });
    const inflows = this.#accounts.map((account) => this.#inflow(account));
    for (const [i, account] of this.#accounts.entries()) {
      account.limit = limits[i] ?? account.limit;
      account.sinceUs = this.#now;
      // Counted from now on, a promised token is as far behind the others as before.
      const inflow = inflows[i] ?? Rational.ZERO;
      for (const promised of this.#promised) {
        promised.places[i] = (promised.places[i] ?? Rational.ZERO).minus(inflow);
      }
      gone[i] = (gone[i] ?? Rational.ZERO).minus(inflow);
    }
    this.#setBalances(next);
    this.#limits = {};
    this.#movePromised(gone);
  }
}
