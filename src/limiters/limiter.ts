import type { Bell } from '../memory/bell.ts';
import type { Clock } from '../time/clock.ts';
import type { Decision } from './decision.ts';

/** How long to wait for tokens, and how. */
export interface WaitOptions {
  /** Fail at once if the wait would outlast this many milliseconds. Default Infinity. */
  readonly timeoutMs?: number;
  /** Ends the wait; the promise rejects with the signal's reason. */
  readonly signal?: AbortSignal;
  /** Wake within microseconds of the instant, at the price of spinning up to it. Default false. */
  readonly strict?: boolean;
}

/** Tokens that were taken, and can perhaps be given back. */
export interface Grant {
  /** Gives them back if nobody built on them since, and says whether. */
  cancel(): boolean;
}

/** What every limiter can do, whatever it counts. */
export interface Limiter {
  /** The clock that every thread of this limiter reads. */
  readonly clock: Clock;
  /** Takes `n` tokens now, or none. */
  tryConsume(n?: number): boolean;
  /** Takes `n` tokens now or none, and says how things stand. */
  decide(n?: number): Decision;
  /** Resolves when `n` tokens were taken. */
  wait(n?: number, options?: WaitOptions): Promise<void>;
  /** Blocks until `n` tokens were taken; false if that would outlast `timeoutMs`. */
  waitSync(n?: number, options?: Omit<WaitOptions, 'signal'>): boolean;
  /** Tokens that can be taken now. */
  available(): number;
  /** The most that can ever be taken at once. */
  readonly limit: number;
  /** Milliseconds until `tokens` can be taken, if nobody takes any: 0 for now, Infinity for never. */
  timeUntil(tokens: number): number;
  /** Rings when another limit is put in force, where that is possible. @internal */
  readonly changes?: Bell;
  /** Takes `n` tokens now, or none; what was taken can be given back. @internal */
  take(n: number): Grant | undefined;
}
