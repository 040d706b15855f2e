import { checkTokens, shown } from '../options.ts';
import { type Clock, isSameClock } from '../time/clock.ts';
import { LimitedSemaphore } from './limited-semaphore.ts';
import {
  type BlockingWaitOptions,
  checkAtOnce,
  checkUnkeyed,
  isPart,
  type Limiter,
  type Part,
  type Waited,
  type WaitOptions,
} from './limiter.ts';
import { Line } from './line.ts';
import { takesToo } from './meeting.ts';
import { messageOf, type RefusedMessage, refused } from './refused.ts';
import type { Semaphore } from './semaphore.ts';
import { type Decision, Described, type Description } from './state.ts';
import {
  BLOCKING_WAIT,
  checkWait,
  NO_INSTANT_US,
  type Refusal,
  type Source,
  waitHere,
  watch,
} from './waiting.ts';
import { checkWhole } from './window.ts';

/** A limiter, and the number of times it was given to `allOf`. */
class Member {
  readonly part: Part;
  #times: number;

  constructor(part: Part, times: number) {
    this.part = part;
    this.#times = times;
  }

  /** The multiple of `n` that a call takes from the part. */
  get times(): number {
    return this.#times;
  }

  repeat(times: number): void {
    this.#times += times;
  }

  /** The tokens that a call for `n` takes from the part. */
  sum(n: number): number {
    return Math.min(n * this.#times, Number.MAX_VALUE);
  }

  /** The number of one-token calls that `tokens` of the part suffice for. */
  share(tokens: number): number {
    const share = tokens / this.#times;
    return this.part.takeback === 'any' ? share : Math.floor(share);
  }

  take(n: number, nowUs?: number): boolean {
    return this.part.take(this.sum(n), nowUs);
  }

  giveBack(n: number, receipt?: object): void {
    this.part.giveBack(this.sum(n), receipt);
  }

  timeUntil(n: number): number {
    return this.part.timeUntil(this.sum(n));
  }

  /** Milliseconds until the part is full, which an unlimited one always is. */
  resetMs(): number {
    const { limit } = this.part;
    return limit < Number.POSITIVE_INFINITY ? this.part.timeUntil(limit) : 0;
  }

  /** Microseconds until a call for `n` can succeed; Infinity if it never can. */
  waitUs(n: number): number {
    const us = this.timeUntil(n) * 1000;
    if (us < Number.POSITIVE_INFINITY) return us;
    const { limit } = this.part;
    return limit === 0 || this.sum(n) <= limit ? NO_INSTANT_US : us;
  }
}

/** Several limiters that must all admit a call, as `allOf` combines them. */
class CombinedLimiter extends Described implements Limiter, Source {
  readonly clock: Clock;
  readonly #members: readonly Member[];
  /** Members that take back any tokens; the one that refused last is first. */
  readonly #exact: Member[];
  /** Members whose tokens may lapse, taken last; those that take back none are at the end. */
  readonly #lossy: readonly Member[];
  /** The lossy member that refused last. It is asked first, so that nothing has to be returned. */
  #refuser: Member | undefined;
  /** Whether they read one clock. Regions through a restart differ in their time. */
  readonly #isOneClock: boolean;
  readonly #line: Line;

  constructor(clock: Clock, members: readonly Member[]) {
    super();
    this.clock = clock;
    this.#members = members;
    const thatTakeBack = (what: string) => members.filter(({ part }) => part.takeback === what);
    this.#exact = thatTakeBack('any');
    this.#lossy = [...thatTakeBack('current'), ...thatTakeBack('none')];
    this.#isOneClock = members.every(({ part }) => part.clock === clock);
    this.#line = new Line(this);
  }

  /** The members of several limiters, with combinations flattened. */
  static membersOf(limiters: readonly Combinable[]): Member[] {
    const members: Member[] = [];
    const add = (limiter: Combinable, times: number) => {
      if (limiter instanceof CombinedLimiter) {
        for (const { part, times } of limiter.#members) add(part, times);
        return;
      }
      const same = members.find(({ part }) => part.at.identity === limiter.at.identity);
      if (same === undefined) members.push(new Member(limiter, times));
      else if (same.part.at.tier === limiter.at.tier) same.repeat(times);
      else throw new TypeError('limiters must not be one key under two tiers: it has one state');
    };
    for (const limiter of limiters) add(limiter, 1);
    return members;
  }

  #check(n: unknown): number {
    return this.#lossy.length === 0 ? checkTokens('n', n) : checkWhole(n);
  }

  #least(of: (member: Member) => number): number {
    return Math.min(...this.#members.map(of));
  }

  #most(of: (member: Member) => number): number {
    return Math.max(...this.#members.map(of));
  }

  /** @internal */
  protected describe(): Description {
    const shown = ({ part, times }: Member) => (times === 1 ? `${part}` : `${times} x ${part}`);
    return ['allOf', Object.fromEntries(this.#members.map((part, index) => [index, shown(part)]))];
  }

  get limit(): number {
    return this.#least((member) => member.share(member.part.limit));
  }

  available(): number {
    return this.#least((member) => member.share(member.part.available()));
  }

  timeUntil(tokens: number): number {
    checkTokens('tokens', tokens);
    return this.#most((member) => member.timeUntil(tokens));
  }

  /** @internal */
  refusal(n: number): Partial<RefusedMessage> {
    const refusing = this.#members.filter((member) => member.timeUntil(n) > 0);
    return { parts: refusing.map((member) => messageOf(member.part, member.sum(n))) };
  }

  /**
   * Takes from all members or from none. First asks the lossy member that refused last.
   * @internal
   */
  attempt(n: number): boolean {
    if (n === 0) return true;
    if (this.#refuser !== undefined && this.#refuser.timeUntil(n) > 0) return false;
    const exact = this.#exact;
    // One reading for all of them: an old one can only admit less.
    const nowUs = exact.length > 0 && this.#isOneClock ? this.clock.now() : undefined;
    // The cost of a fraction is rounded up, and what comes back down: only to cancel it is exact.
    const receipts: (object | undefined)[] | undefined = Number.isInteger(n) ? undefined : [];
    const refuser = this.#refuserOf(exact, n, receipts, nowUs);
    if (refuser !== undefined) {
      exact.splice(exact.indexOf(refuser), 1);
      exact.unshift(refuser);
      return false;
    }
    if (this.#lossy.length === 0) return true;
    return takesToo(
      () => {
        this.#refuser = this.#lossyRefuser(n);
        return this.#refuser === undefined;
      },
      () => this.#giveBack(exact, n),
    );
  }

  /** Takes from the lossy members, or returns the one that refuses. */
  #lossyRefuser(n: number): Member | undefined {
    const lossy = this.#lossy;
    // Tokens taken from the first may lapse if a later one refuses, so ask all of them before.
    const foreseen = lossy.length > 1 && lossy.find((member) => member.timeUntil(n) > 0);
    return foreseen || this.#refuserOf(lossy, n, []);
  }

  /** Takes from all members, or from none if one throws or refuses, and returns the latter. */
  #refuserOf(
    members: readonly Member[],
    n: number,
    receipts?: (object | undefined)[],
    nowUs?: number,
  ): Member | undefined {
    let taken = 0;
    try {
      for (const member of members) {
        if (!member.take(n, nowUs)) return member;
        taken++;
        receipts?.push(member.part.receipt());
      }
      return undefined;
    } finally {
      if (taken < members.length) this.#giveBack(members.slice(0, taken), n, receipts);
    }
  }

  #giveBack(
    members: readonly Member[],
    n: number,
    receipts?: readonly (object | undefined)[],
  ): void {
    for (const [i, member] of members.entries()) member.giveBack(n, receipts?.[i]);
  }

  tryConsume(n = 1): boolean {
    return this.attempt(this.#check(n)) || refused(this, n);
  }

  decide(n = 1): Decision {
    const allowed = this.tryConsume(n);
    const remaining = Math.floor(this.available());
    return {
      allowed,
      limit: this.limit,
      remaining,
      retryAfterMs: allowed ? 0 : this.timeUntil(n),
      resetMs: this.#most((member) => member.resetMs()),
      nextTokenMs:
        remaining < this.limit ? this.timeUntil(remaining + 1) : Number.POSITIVE_INFINITY,
    };
  }

  async wait(n = 1, options: WaitOptions = {}): Promise<Waited> {
    return this.#line.wait(this.#check(n), checkWait(options));
  }

  waitSync(n = 1, options: BlockingWaitOptions = {}): boolean {
    return waitHere(this, this.#check(n), checkWait(options, BLOCKING_WAIT));
  }

  get waiting(): number {
    return this.#line.length;
  }

  /** Watches the slowest member: changing another's limit cannot end the wait sooner. */
  look(n: number): Refusal {
    let slowestUs = 0;
    let watched: Refusal['watch'];
    for (const member of this.#members) {
      // Watch before reading the limit, so that no change is missed.
      const watching = watch(member.part.changes);
      const us = member.waitUs(n);
      if (us <= slowestUs) continue;
      slowestUs = us;
      watched = watching;
    }
    return { retryAtUs: this.clock.now() + slowestUs, watch: watched };
  }
}

/** A limiter that can be combined with others. */
type Combinable = CombinedLimiter | Part;

/** Detects a semaphore without importing the class. */
function isSemaphore(part: unknown): part is Semaphore {
  return typeof (part as Partial<Semaphore> | null | undefined)?.watch === 'function';
}

/** Combines limiters into one, with nested combinations flattened. */
function combine(limiters: readonly unknown[], semaphore?: Semaphore): Limiter {
  const parts: Combinable[] = [];
  for (const [index, limiter] of limiters.entries()) {
    checkAtOnce(`limiters[${index}]`, limiter);
    checkUnkeyed(`limiters[${index}]`, limiter);
    if (!(limiter instanceof CombinedLimiter || isPart(limiter))) {
      const hint = isSemaphore(limiter) ? '; one semaphore at most, as the first argument' : '';
      throw new TypeError(`limiters[${index}] must be a limiter, got ${shown(limiter)}${hint}`);
    }
    parts.push(limiter);
    const { clock } = semaphore ?? parts[0] ?? limiter;
    if (!isSameClock(limiter.clock, clock)) {
      const [one, other] = [clock.name, limiter.clock.name];
      const got = one === other ? `two ${one} clocks` : `${one} and ${other}`;
      throw new TypeError(`all limiters must have the same clock, got ${got}`);
    }
  }
  const [first] = parts;
  if (first === undefined) throw new TypeError('allOf needs at least one limiter');
  // A single bucket reserves tokens in order over all threads, so it stays as it is.
  if (semaphore !== undefined && parts.length === 1) return first;
  return new CombinedLimiter(first.clock, CombinedLimiter.membersOf(parts));
}

/**
 * Combines a semaphore and limiters, which limit how many callers are in flight at once and how
 * many start per second.
 *
 * @throws TypeError if no limiter follows the semaphore, if an argument is not a limiter or is on a
 * server, or if the clocks differ.
 */
export function allOf(semaphore: Semaphore, ...limiters: Limiter[]): LimitedSemaphore;
/**
 * Combines limiters into one that admits a call only if all of them do, such as 10 per second AND
 * 100 per minute. A call takes tokens from all parts or from none.
 *
 * Tokens are taken from one part after the other, and returned if a later part refuses. Buckets
 * come first, because they can take back any tokens. Windows take back only tokens of the current
 * window and logs none, so they come last; tokens that cannot be returned lapse. A race between
 * threads can therefore briefly admit too little, never too much.
 *
 * A limiter given twice, even through two attachments, must grant twice the tokens. One key under two
 * tiers is refused, because it has one state for both.
 *
 * Callers of `wait` on this object form a line and are served in order. The head of the line tries
 * again when the slowest part can admit it at the earliest, or when that part's limit changes, or
 * tokens are returned to it or a reservation is cancelled, unless it is a key's. Other threads,
 * `tryConsume` and `waitSync` do not join the line.
 *
 * Accepts any mix of limiters, including nested combinations; of a keyed limiter, that of one key,
 * `keyed.for(key)`. To share one across threads, attach the parts in each thread and combine them
 * there.
 *
 * @example
 * ```ts
 * const perSecond = TokenBucket.create({ rate: 10, burst: 10 });
 * const perMinute = TokenBucket.create({ rate: per(100, 'minute'), burst: 100 });
 * const both = allOf(perSecond, perMinute);
 * both.tryConsume();
 * ```
 * @throws TypeError if no limiter is given, if an argument is not one or is on a server, if two are one
 * key under two tiers, or if the clocks differ.
 */
export function allOf(...limiters: Limiter[]): Limiter;
export function allOf(...parts: readonly unknown[]): Limiter | LimitedSemaphore {
  const [first, ...others] = parts;
  if (!isSemaphore(first)) return combine(parts);
  return new LimitedSemaphore(first, combine(others, first));
}
