import type { Bell } from '../memory/bell.ts';
import type { Clock } from '../time/clock.ts';
import type { Decision } from './decision.ts';

/** Options of `wait` and, except for `signal`, `waitSync`. */
export interface WaitOptions {
  /** Maximum wait in milliseconds, >= 0: fail at once if it would take longer. Default Infinity. */
  readonly timeoutMs?: number;
  /** Aborts the wait; the promise rejects with the signal's reason. */
  readonly signal?: AbortSignal;
  /**
   * Wake within microseconds of the due instant, at the cost of spinning before it. Default false.
   */
  readonly strict?: boolean;
}

/** Taken tokens that may still be returned. */
export interface Grant {
  /** Puts the tokens back if no other call has taken any since. Returns whether it did. */
  cancel(): boolean;
}

/** The methods common to all limiters. */
export interface Limiter {
  /** The clock, the same one for all threads of this limiter. */
  readonly clock: Clock;
  /** Takes `n` tokens now, or none. */
  tryConsume(n?: number): boolean;
  /** Takes `n` tokens now or none, and reports the state of the limiter. */
  decide(n?: number): Decision;
  /** Waits until `n` tokens are available, and takes them. */
  wait(n?: number, options?: WaitOptions): Promise<void>;
  /**
   * Blocks until `n` tokens are available, and takes them; false if that would exceed `timeoutMs`.
   */
  waitSync(n?: number, options?: Omit<WaitOptions, 'signal'>): boolean;
  /** Returns the tokens that can be taken now. */
  available(): number;
  /** The most tokens that one call can ever take. */
  readonly limit: number;
  /**
   * Returns the milliseconds until `tokens` can be taken if no one else takes any: 0 if they can
   * now, Infinity if they never can.
   */
  timeUntil(tokens: number): number;
  /** Rings when the limit changes; undefined if it cannot. @internal */
  readonly changes?: Bell;
  /** Takes `n` tokens now, or none; the grant may be cancelled. @internal */
  take(n: number): Grant | undefined;
}
