import { RateLimitError } from '../errors.ts';
import type { LimiterStats as CallCounts, LimitOutcome, Outcome } from '../kernel/bucket/kernel.ts';
import type { KeyedStats as TableCounts } from '../kernel/keyed/table-host.ts';
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
   * then the smallest limit, the fewest remaining tokens and the longest waits; `nextTokenMs` is the
   * longest of the limits with the fewest tokens.
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

/** A limiter's counts. All but `waiting` cover all threads since its creation. */
export interface LimiterStats extends CallCounts {
  /** Callers of this thread waiting in `wait` on this object; of a semaphore, those of all threads. */
  readonly waiting: number;
}

/** A table's counts. Except for `waiting`, they cover all threads since its creation. */
export interface KeyedStats extends TableCounts {
  /** Callers of this thread waiting in `wait` on this object, for all keys. */
  readonly waiting: number;
}

/** @throws RateLimitError `ERR_STATS_DISABLED` if the limiter does not count calls. */
export function statsOf(
  kernel: { stats(): CallCounts | undefined },
  waiting: number,
): LimiterStats {
  const stats = kernel.stats();
  if (stats !== undefined) return { ...stats, waiting };
  throw new RateLimitError('ERR_STATS_DISABLED', 'create the limiter with stats: true');
}

/** What `console.log` and `toString` show: the class, and its limit and state. */
export type Description = readonly [
  name: string,
  fields: Readonly<Record<string, number | string | undefined>>,
];

/** Called by `console.log` in Node, instead of listing private fields. */
const INSPECT = Symbol.for('nodejs.util.inspect.custom');

/** Hides rounding errors in the last digits of fractions. */
function shownField(value: number | string): string {
  if (typeof value === 'string' || Number.isInteger(value)) return `${value}`;
  return `${Number(value.toPrecision(9))}`;
}

/** An object that shows its limit and its state in logs. */
export abstract class Described {
  /** The fields to show; undefined ones are left out. @internal */
  protected abstract describe(): Description;

  /** Returns one line for logs: the class, the limit, the tokens and the debt. */
  toString(): string {
    const [name, fields] = this.#description();
    const shown = Object.entries(fields).flatMap(([field, value]) =>
      value === undefined ? [] : [`${field}: ${shownField(value)}`],
    );
    return `${name} { ${shown.join(', ')} }`;
  }

  /** A log line must not throw, even if the limiter's memory is damaged. */
  #description(): Description {
    try {
      return this.describe();
    } catch (error) {
      return ['limiter', { unreadable: error instanceof Error ? error.message : `${error}` }];
    }
  }

  /**
   * Called by `JSON.stringify`: the class as `limiter`, and the same fields. To send a limiter to
   * another thread, use its handle.
   */
  toJSON(): Readonly<Record<string, number | string>> {
    const [limiter, fields] = this.#description();
    const known: Record<string, number | string> = { limiter };
    for (const [field, value] of Object.entries(fields)) {
      // JSON has no Infinity.
      if (value !== undefined) known[field] = Number.isFinite(value) ? value : `${value}`;
    }
    return known;
  }

  /** @internal */
  [INSPECT](): string {
    return this.toString();
  }
}
