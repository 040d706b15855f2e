import { checkTokens } from '../options.ts';
import type { Clock } from '../time/clock.ts';
import type { Decision } from './decision.ts';
import { Described, type Description } from './described.ts';
import type { BlockingWaitOptions, Limiter, Waited, WaitOptions } from './limiter.ts';
import { Line } from './line.ts';
import { isPart, Member } from './part.ts';
import { checkWait, type Refusal, type Source, waitHere, watch } from './waiting.ts';
import { checkWhole } from './window.ts';

/** Several limiters that must all admit a call, as `allOf` combines them. */
export class CombinedLimiter extends Described implements Limiter {
  readonly clock: Clock;
  readonly #members: readonly Member[];
  /** Members that take back any tokens; the one that refused last is first. */
  readonly #exact: Member[];
  /** Members whose tokens may lapse, taken last; those that take back none are at the end. */
  readonly #lossy: readonly Member[];
  /** The lossy member that refused last. It is asked first, so that nothing has to be returned. */
  #refuser: Member | undefined;
  readonly #source: Source;
  readonly #line: Line;

  constructor(clock: Clock, members: readonly Member[]) {
    super();
    this.clock = clock;
    this.#members = members;
    const thatTakeBack = (what: string) => members.filter(({ part }) => part.takeback === what);
    this.#exact = thatTakeBack('any');
    this.#lossy = [...thatTakeBack('current'), ...thatTakeBack('none')];
    const limitOf = () => this.limit;
    this.#source = {
      attempt: (n) => (this.#take(n) ? undefined : this.#look(n)),
      look: (n) => this.#look(n),
      get limit() {
        return limitOf();
      },
    };
    this.#line = new Line(clock, this.#source);
  }

  /** The members of several limiters, with combinations flattened. */
  static membersOf(limiters: readonly Limiter[]): Member[] {
    const members: Member[] = [];
    const add = (limiter: Limiter, times: number) => {
      if (limiter instanceof CombinedLimiter) {
        for (const { part, times } of limiter.#members) add(part, times);
        return;
      }
      if (!isPart(limiter)) return;
      const member = new Member(limiter);
      const same = members.find((known) => known.isSameAs(member));
      if (same === undefined) {
        member.repeat(times - 1);
        members.push(member);
      } else {
        same.repeat(times);
      }
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

  /** Takes from all members or from none. First asks the lossy member that refused last. */
  #take(n: number): boolean {
    if (n === 0) return true;
    if (this.#refuser !== undefined && this.#refuser.timeUntil(n) > 0) return false;
    const exact = this.#exact;
    // One reading for all of them: an old one can only admit less.
    const nowUs = exact.length === 0 ? undefined : this.clock.now();
    for (let i = 0; i < exact.length; i++) {
      const member = exact[i] as Member; // i is less than the length
      if (member.take(n, nowUs)) continue;
      this.#giveBack(n, i);
      exact.splice(i, 1);
      exact.unshift(member);
      return false;
    }
    this.#refuser = this.#lossyRefuser(n);
    if (this.#refuser === undefined) return true;
    this.#giveBack(n, exact.length);
    return false;
  }

  /** Takes from the lossy members, or returns the one that refuses. */
  #lossyRefuser(n: number): Member | undefined {
    const lossy = this.#lossy;
    const [first] = lossy;
    if (first === undefined) return undefined;
    if (lossy.length === 1) return first.take(n) ? undefined : first;
    // Tokens taken from the first may lapse if a later one refuses, so ask the others first.
    const foreseen = lossy.find((member, i) => i > 0 && member.timeUntil(n) > 0);
    if (foreseen !== undefined) return foreseen;
    const receipts: (object | undefined)[] = [];
    for (const member of lossy) {
      if (!member.take(n)) {
        for (const [i, receipt] of receipts.entries()) lossy[i]?.giveBack(n, receipt);
        return member;
      }
      receipts.push(member.part.receipt());
    }
    return undefined;
  }

  /** Returns the tokens taken from the first `count` exact members. */
  #giveBack(n: number, count: number): void {
    for (let i = 0; i < count; i++) this.#exact[i]?.giveBack(n);
  }

  tryConsume(n = 1): boolean {
    return this.#take(this.#check(n));
  }

  decide(n = 1): Decision {
    const allowed = this.tryConsume(n);
    const remaining = Math.floor(this.available());
    return {
      allowed,
      limit: this.limit,
      remaining,
      retryAfterMs: allowed ? 0 : this.timeUntil(n),
      resetMs: this.#most(({ part }) => part.timeUntil(part.limit)),
      nextTokenMs:
        remaining < this.limit ? this.timeUntil(remaining + 1) : Number.POSITIVE_INFINITY,
    };
  }

  async wait(n = 1, options: WaitOptions = {}): Promise<Waited> {
    return this.#line.wait(this.#check(n), checkWait(options));
  }

  waitSync(n = 1, options: BlockingWaitOptions = {}): boolean {
    return waitHere(this.clock, this.#source, this.#check(n), checkWait(options));
  }

  get waiting(): number {
    return this.#line.length;
  }

  /** Watches the slowest member: changing another's limit cannot end the wait sooner. */
  #look(n: number): Refusal {
    let slowestUs = 0;
    let watched: Refusal['watch'];
    for (const member of this.#members) {
      const { changes } = member.part;
      // Watch before reading the limit, so that no change is missed.
      const watching = changes && watch(changes);
      const us = n === 0 ? 0 : member.waitUs(n);
      if (us <= slowestUs) continue;
      slowestUs = us;
      watched = watching;
    }
    return { retryAtUs: this.clock.now() + slowestUs, watch: watched };
  }
}
