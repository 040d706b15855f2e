import { checkOptions } from '../known-options.ts';
import { checkNumber, shown } from '../options.ts';
import { checkDecision, type Decision } from './state.ts';

/** Options of {@link rateLimitHeaders}. */
export interface HeaderOptions {
  /**
   * The policy's name: a non-empty string of printable ASCII. Default `'default'`. For a limit set,
   * pass one name for each limit, in order, or one to which `-1`, `-2` and so on are appended. An
   * `allOf` has one policy.
   */
  readonly policy?: string | readonly string[];
  /**
   * The policy's window in milliseconds: greater than 0. Omitted from the fields by default. With
   * several limits, pass one for each.
   */
  readonly windowMs?: number | readonly number[];
}

/** HTTP fields by name. `Retry-After` is present only if a retry can succeed. */
export interface RateLimitHeaders {
  /**
   * The remaining quota, and the seconds until more of it is available or, after a refusal, until a
   * retry can succeed if that is sooner; without the seconds if the quota is full or the limiter
   * paused.
   */
  readonly RateLimit?: string;
  /** The quota and, if given, its window in seconds. */
  readonly 'RateLimit-Policy'?: string;
  /** Whole seconds until a retry can succeed. */
  readonly 'Retry-After'?: string;
}

/** The largest integer of a structured field (RFC 9651, section 3.3.1). */
const MAX_INTEGER = 999_999_999_999_999;

const DECISION_RULE = 'decision must be what decide returned, or its promise resolved with';

/** Rounded up: a client that retries a moment too early would be refused again. */
function seconds(ms: number): number {
  return Math.min(Math.ceil(ms / 1000), MAX_INTEGER);
}

function quoted(name: unknown): string {
  if (typeof name !== 'string' || !/^[\x20-\x7e]+$/.test(name)) {
    throw new TypeError(`policy must be a string of printable ASCII, got ${shown(name)}`);
  }
  return `"${name.replace(/["\\]/g, '\\$&')}"`;
}

/**
 * Converts a decision to HTTP fields: `RateLimit` and `RateLimit-Policy` of the IETF draft
 * (https://datatracker.ietf.org/doc/draft-ietf-httpapi-ratelimit-headers/) and, if the call was
 * refused and a retry can succeed, `Retry-After` (RFC 9110). With several limits, each is a policy.
 * Returns no fields for an unlimited limiter.
 *
 * @example
 * ```ts
 * const decision = limiter.decide();
 * for (const [name, value] of Object.entries(rateLimitHeaders(decision))) {
 *   response.setHeader(name, value);
 * }
 * if (!decision.allowed) response.writeHead(429);
 * ```
 * @throws TypeError if `decision` is none, such as a promise, `policy` is not a string of printable ASCII, or `windowMs` is not a number.
 * @throws RangeError if `windowMs` is not finite and greater than 0, or if an array does not have one
 * value for each limit.
 */
export function rateLimitHeaders(
  decision: Decision,
  options: HeaderOptions = {},
): RateLimitHeaders {
  const { allowed, retryAfterMs, limits } = checkDecision(decision, DECISION_RULE);
  const { policy = 'default', windowMs } = checkOptions(options, { policy: true, windowMs: true });
  const states = limits ?? [decision];
  const names = perLimit('policy', policy, states.length).map((name, i) =>
    quoted(
      limits === undefined || isArray(policy) || typeof name !== 'string'
        ? name
        : `${name}-${i + 1}`,
    ),
  );
  const windows = windowMs === undefined ? [] : perLimit('windowMs', windowMs, states.length);
  for (const window of windows) checkNumber('windowMs', window, { above: 0 });
  const limited = [...states.entries()].filter(([, { limit }]) => limit < Number.POSITIVE_INFINITY);
  if (limited.length === 0) return {};
  // By the draft, Retry-After must not end before the time of a policy.
  const latestMs = allowed ? Number.POSITIVE_INFINITY : retryAfterMs;
  const current = limited.map(([i, { limit, remaining, nextTokenMs }]) => {
    // An infinite rate leaves more than the burst.
    const quota = `${names[i]};r=${Math.min(remaining, Math.floor(limit), MAX_INTEGER)}`;
    const moreMs = Math.min(nextTokenMs, latestMs);
    return Number.isFinite(nextTokenMs) ? `${quota};t=${seconds(moreMs)}` : quota;
  });
  const quotas = limited.map(([i, { limit }]) => {
    const window = windows[i];
    const quota = `${names[i]};q=${Math.min(Math.floor(limit), MAX_INTEGER)}`;
    return window === undefined ? quota : `${quota};w=${seconds(window)}`;
  });
  return {
    RateLimit: current.join(', '),
    'RateLimit-Policy': quotas.join(', '),
    ...(Number.isFinite(latestMs) ? { 'Retry-After': String(Math.max(1, seconds(latestMs))) } : {}),
  };
}

/** Expands a single value to one for each limit. */
function perLimit<T>(name: string, value: T | readonly T[], count: number): readonly T[] {
  if (!isArray(value)) return Array.from({ length: count }, () => value);
  if (value.length === count) return value;
  throw new RangeError(
    `${name} must be an array of ${count}, one for each limit, got ${value.length}`,
  );
}

function isArray<T>(value: T | readonly T[]): value is readonly T[] {
  return Array.isArray(value);
}
