import { LATER, NEVER } from '../../src/kernel/bucket/kernel.ts';
import { Rational } from '../support/rational.ts';

const ZERO = Rational.ZERO;

/** An admission. */
export interface Taken {
  readonly n: number;
  /** Undefined during a pause. */
  readonly waitUs: Rational | undefined;
  /** When its tokens are due; undefined during a pause, `past` if nothing can move them any more. */
  due(): Rational | undefined | 'past';
  /** Returns the tokens if no other call came after it. */
  cancel(): boolean;
}

export function toNumber(value: Rational | undefined): number {
  return value?.toNumber() ?? Number.POSITIVE_INFINITY;
}

/**
 * The exact answers of a limiter, or of one key, to one caller at a time. Slow, and independent of the
 * library's code; docs/algorithm.md and its neighbours decide what is right.
 */
export abstract class Calls<T extends Taken = Taken> {
  readonly nowUs: () => number;

  constructor(nowUs: () => number) {
    this.nowUs = nowUs;
  }

  protected get now(): Rational {
    return Rational.of(this.nowUs());
  }

  /** The most that a call can take. */
  abstract get burst(): number;
  /** Tokens held, negative in debt. */
  abstract balance(): Rational;
  /** Microseconds until `tokens` are held, regardless of a queue; undefined if they never will be. */
  abstract waitUs(tokens: number): Rational | undefined;
  /** Takes tokens. A charge does not wait for those that are promised before. */
  abstract take(tokens: number, isCharge?: boolean): T;
  /** Returns tokens. True if that moved promises. */
  abstract putBack(tokens: number): boolean;

  /** Under each of several limits. */
  balances(): Rational[] {
    return [this.balance()];
  }

  /** Microseconds until all is there again. */
  fullUs(): Rational | undefined {
    return this.waitUs(this.burst);
  }

  /** Microseconds to wait before taking `tokens`, of which none are always there. */
  waitToTakeUs(tokens: number): Rational | undefined {
    return tokens === 0 ? ZERO : this.waitUs(tokens);
  }

  /** Microseconds until a call for `tokens` is admitted at once, if no other one comes before. */
  retryUs(tokens: number): Rational | undefined {
    return this.waitToTakeUs(tokens);
  }

  /** Takes tokens, unless that takes longer than `maxWaitUs`. */
  acquire(tokens: number, maxWaitUs = 0): T | undefined {
    return toNumber(this.waitToTakeUs(tokens)) <= maxWaitUs && tokens <= this.burst
      ? this.take(tokens)
      : undefined;
  }

  /** How a kernel puts the answer of {@link acquire}. */
  waitOf(taken: Taken | undefined, tokens: number): number {
    if (taken !== undefined) return toNumber(taken.waitUs);
    return tokens > this.burst ? NEVER : LATER;
  }

  /** Takes at most `most` whole tokens. */
  drain(most: number): number {
    const taken = Math.max(0, Math.min(Math.floor(most), this.balance().floor().toNumber()));
    this.take(taken);
    return taken;
  }

  /** Takes tokens that may not be there; microseconds until the debt is paid. */
  charge(tokens: number): number {
    this.take(tokens, true);
    return tokens === 0 ? 0 : toNumber(this.waitUs(0));
  }

  decide(tokens: number) {
    const retryUs = toNumber(this.retryUs(tokens));
    const allowed = this.acquire(tokens) !== undefined;
    return {
      ...{ allowed, retryUs, fullUs: toNumber(this.fullUs()) },
      balance: this.balance().toNumber(),
    };
  }
}
