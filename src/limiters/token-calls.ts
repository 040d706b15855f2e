import type { TokenKernel } from '../kernel/bucket/kernel.ts';
import type { Clock } from '../time/clock.ts';
import { refused } from './refused.ts';
import { type Decision, Described, decisionOf } from './state.ts';

/** The methods common to all buckets and to the windows of keys: they take tokens now, or look. */
export abstract class TokenCalls extends Described {
  /** The clock, the same one for all threads of this limiter. */
  readonly clock: Clock;
  /** Returns the kernel, pointed at this limiter. Called once per call. @internal */
  protected abstract seek(): TokenKernel;
  /** Returns a valid number of tokens; throws for others, naming the parameter. @internal */
  protected abstract check(name: string, n: unknown): number;

  protected constructor(clock: Clock) {
    super();
    this.clock = clock;
  }

  /** @internal */
  take(n: number, nowUs: number = this.clock.now()): boolean {
    return this.seek().acquire(nowUs, n, 0) === 0;
  }

  /** The most tokens that one call can take: the burst of a bucket, the limit of a window. */
  get limit(): number {
    return this.seek().schedule().burst;
  }

  /** Takes `n` tokens now and returns true, or takes none and returns false. */
  tryConsume(n = 1): boolean {
    this.check('n', n);
    return this.seek().acquire(this.clock.now(), n, 0) === 0 || refused(this, n);
  }

  /** Takes as many whole tokens as are available, up to `n`, and returns their number. */
  consumeOrDrain(n: number): number {
    this.check('n', n);
    const taken = this.seek().drain(this.clock.now(), n);
    if (taken <= n - 1) refused(this, Math.floor(n) - taken);
    return taken;
  }

  /**
   * Takes `n` tokens now or none, and reports the state of the limiter. `decide(0)` only looks: it
   * takes nothing and is always allowed.
   */
  decide(n = 1): Decision {
    this.check('n', n);
    const decision = decisionOf(this.seek().decide(this.clock.now(), n));
    if (!decision.allowed) refused(this, n);
    return decision;
  }

  /**
   * Takes `n` tokens even if fewer are left or the limit is smaller, and returns the milliseconds
   * until the debt is paid: 0 if there were enough. Use it for work whose cost you learn afterwards,
   * or as a penalty: later callers wait until the debt is paid. A window pays from later windows.
   *
   * All other calls together still keep the limit, such as burst + rate * t tokens in any t seconds;
   * a charge counts from when it is paid.
   *
   * @throws RangeError, TypeError if `n` is not valid for this limiter, or if the debt would take
   * more than 4.4 years to pay (8.9 for a key with one limit).
   */
  charge(n: number): number {
    this.check('n', n);
    const waitUs = this.seek().charge(this.clock.now(), n);
    if (waitUs >= 0) return waitUs / 1000;
    throw new RangeError(`n must leave a debt of at most 4.4 years, got ${n}`);
  }

  /** Returns the tokens that can be taken now: 0 in debt. */
  available(): number {
    return Math.max(0, this.seek().balance(this.clock.now()));
  }

  /**
   * Returns the milliseconds until `tokens` can be taken if no one else takes any: 0 if they can
   * now, Infinity if they never can. For 0 tokens, until the debt is paid.
   */
  timeUntil(tokens: number): number {
    this.check('tokens', tokens);
    return this.seek().timeUntil(this.clock.now(), tokens) / 1000;
  }
}
