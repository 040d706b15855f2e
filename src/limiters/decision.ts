import type { LimitOutcome, Outcome } from '../kernel/bucket/kernel.ts';
import { wholeOf } from '../kernel/limit-set/cell.ts';
import { shown } from '../options.ts';

/** The state of one limit after a decision. */
export interface LimitState {
  /** The most tokens that the limiter can grant at once. */
  readonly limit: number;
  /** Whole tokens left after this call. */
  readonly remaining: number;
  /** Milliseconds until a retry can succeed: 0 if the call did, Infinity if it never can. */
  readonly retryAfterMs: number;
  /** Milliseconds until the whole limit is available again, if no one takes any tokens. */
  readonly resetMs: number;
  /**
   * Milliseconds until `remaining` grows by 1, if no one takes any tokens; Infinity if it never
   * will, because the limiter is full or paused.
   */
  readonly nextTokenMs: number;
}

/** The outcome of `decide`, in the terms of HTTP rate-limit headers. */
export interface Decision extends LimitState {
  /** Whether the tokens were taken. */
  readonly allowed: boolean;
  /**
   * Present if the limiter has several limits: the state of each, in order. The fields above are
   * then the smallest limit, the fewest remaining tokens and the longest waits.
   */
  readonly limits?: readonly LimitState[];
}

/** @throws TypeError that begins with `rule` for anything else, such as a promise of a decision. */
export function checkDecision(decision: Decision, rule: string): Decision {
  if (typeof decision?.allowed === 'boolean') return decision;
  throw new TypeError(`${rule}, got ${shown(decision)}`);
}

/** Converts a kernel's outcome to the API's terms. */
export function decisionOf(outcome: Outcome): Decision {
  const { allowed, limits } = outcome;
  const state = { allowed, ...stateOf(outcome) };
  return limits === undefined ? state : { ...state, limits: limits.map(stateOf) };
}

function stateOf({ burst, balance, retryUs, fullUs, nextUs }: LimitOutcome): LimitState {
  // An infinite rate fills more than the burst.
  const top = Math.max(burst, balance);
  return {
    limit: burst,
    remaining: Math.min(wholeOf(balance), Math.floor(top)),
    retryAfterMs: retryUs / 1000,
    resetMs: fullUs / 1000,
    nextTokenMs: nextUs / 1000,
  };
}
